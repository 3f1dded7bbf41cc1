import { EditorView, Prec, basicSetup, keymap, oneDark, python, setDiagnostics } from "./codemirror.js";

const $ = (id) => document.getElementById(id);
const base = new URL(document.querySelector("meta[name=pyodide]").content, location.href).href;

// --- a program in the address -----------------------------------------------------------------------------------

const through = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());

async function packed(text) {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  return new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
}

// --- the editor -------------------------------------------------------------------------------------------------

const dark = matchMedia("(prefers-color-scheme: dark)").matches;
const view = new EditorView({
  parent: $("editor"),
  extensions: [
    Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => (run(), true) }])),
    basicSetup,
    python(),
    ...(dark ? [oneDark] : []),
  ],
});

const program = () => view.state.doc.toString();

function setProgram(text) {
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
  mark(null);
}

function mark(number, message) {
  const found = number && number <= view.state.doc.lines ? view.state.doc.line(number) : null;
  const diagnostics = found ? [{ from: found.from, to: found.to, severity: "error", message }] : [];
  view.dispatch(setDiagnostics(view.state, diagnostics));
  if (found) view.dispatch({ effects: EditorView.scrollIntoView(found.from, { y: "center" }) });
}

// --- Python -----------------------------------------------------------------------------------------------------

let worker;

function start() {
  worker = new Worker("worker.js", { type: "module" });
  worker.onmessage = ({ data }) => heard(data);
  worker.onerror = (event) => heard({ kind: "failed", error: event.message });
  worker.postMessage({ kind: "load", base });
  say("Loading Python …", false, false);
}

function say(text, canRun, canStop) {
  $("status").textContent = text;
  $("run").disabled = !canRun;
  $("stop").disabled = !canStop;
}

function print(text, bad = false) {
  const span = document.createElement("span");
  span.textContent = text;
  span.className = bad ? "bad" : "";
  $("output").append(span);
  $("output").scrollTop = $("output").scrollHeight;
}

function heard(data) {
  if (data.kind === "ready") say("Ready", true, false);
  else if (data.kind === "output") print(data.text);
  else if (data.kind === "restarted") {
    $("output").textContent = "";
    say(`Loading ${data.missing} …`, false, true);
  } else if (data.kind === "failed") {
    print(`${data.error}\n`, true);
    say("Failed", false, false);
  } else {
    if (data.error) {
      print(`${data.line ? `line ${data.line}: ` : ""}${data.error}\n`, true);
      mark(data.line, data.error);
    }
    const none = "<p style='font: 15px system-ui; padding: 1rem'>The program made no backward pass.</p>";
    $("explanation").srcdoc = data.page ?? none;
    say(data.error ? "Ended in an error" : "Done", true, false);
  }
}

function run() {
  if ($("run").disabled) return;
  $("output").textContent = "";
  mark(null);
  say("Running …", false, true);
  worker.postMessage({ kind: "run", code: program() });
}

function stop() {
  worker.terminate();
  print("Stopped.\n", true);
  start();
}

// --- the page ---------------------------------------------------------------------------------------------------

$("run").onclick = run;
$("stop").onclick = stop;
$("share").onclick = async () => {
  location.hash = await packed(program());
  const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
  $("status").textContent = copied ? "The address is copied" : "The address above has the program";
};

async function shared() {
  if (location.hash.length < 2) return false;
  try {
    setProgram(await unpacked(location.hash.slice(1)));
    return true;
  } catch {
    print("The address holds no program.\n", true);
    return false;
  }
}

window.onhashchange = shared;
start();
const programs = await (await fetch("programs.json")).json();
$("programs").append(...programs.map(({ title }, i) => new Option(title, i)));
$("programs").onchange = () => setProgram(programs[$("programs").value].code);
if (!(await shared())) setProgram(programs[0].code);
document.documentElement.dataset.ready = "";
