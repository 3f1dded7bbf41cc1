// Stepping, choosing, searching, keys.

let current = 0, playing = null;
const $ = (id) => document.getElementById(id);

function go(n, quietly = false) {
  current = Math.max(0, Math.min(steps.length, n));
  $("slider").value = current;
  $("position").textContent = `${current} / ${steps.length}`;
  showStep(current);
  showLine(current);
  const item = current ? items.get("s" + current) : roots.length ? items.get("o0") : null;
  if (item && !quietly && current) openAround(item);
  mark();
  if (item && !quietly) reveal(visible(item).id);
  if (current && !quietly) {
    const s = steps[current - 1];
    $("announce").textContent = `Step ${current} of ${steps.length}: ${titleOf(s)}. ${s.downstream.map((d) => d.rule).join("; ")}. Line ${s.line ?? "unknown"}: ${s.code}`;
  }
}

// Stepping opens the call of a repeated module that the step is in, and closes the one before.
let followed = [];

function openAround(item) {
  const around = [];
  for (let g = item.parent; g; g = g.parent) around.push(g);
  const repeated = around.findIndex((g) => g.calls);
  const wanted = repeated < 0 ? [] : around.slice(0, repeated + 1).map((g) => g.id).filter((id) => !opened.has(id) || followed.includes(id));
  if (wanted.length === followed.length && wanted.every((id) => followed.includes(id))) return;
  for (const id of followed) opened.delete(id);
  for (const id of wanted) opened.add(id);
  followed = wanted;
  draw();
}

// Which nodes and edges the gradient has passed.
function mark() {
  const now = current ? visible(items.get("s" + current)).id : null;
  for (const [id, n] of drawn.nodes) {
    const numbersOf = stepsIn(n.item);
    n.box.classList.toggle("current", id === now);
    n.box.classList.toggle("done", numbersOf.length > 0 && numbersOf[0] <= current);
    if (id === now) n.box.setAttribute("aria-current", "step");
    else n.box.removeAttribute("aria-current");
  }
  for (const e of drawn.edges) {
    e.path.classList.toggle("done", e.first <= current);
    e.path.classList.toggle("now", current > 0 && e.steps.includes(current));
  }
}

// Something was chosen in the picture, or by a link.
function chosen(item) {
  if (item.kind === "step") go(item.step.number);
  else if (item.kind === "output") go(0);
  else {
    showLeaf(item.leaf);
    for (const [id, n] of drawn.nodes) n.box.classList.toggle("current", id === visible(item).id);
    reveal(visible(item).id);
    $("announce").textContent = `${item.leaf.name}: gradient ${brief(item.leaf.gradient)}`;
  }
}

function play(on) {
  clearInterval(playing);
  playing = on ? setInterval(() => (current < steps.length ? go(current + 1) : play(false)), 900) : null;
  $("play").setAttribute("aria-pressed", String(on));
  $("play").textContent = on ? "❚❚" : "▶";
}

const MOST_DRAWN = 250; // more boxes than this nobody reads

function openAll(open) {
  opened.clear();
  opened.add("");
  if (open) openAsFits(MOST_DRAWN);
  draw();
  fit();
  mark();
  if (view.scale < 0.45) revealCurrent(); // too small to be read as a whole
}

// The first picture: as many modules opened as can still be read; where even few are too many, the end at the output.
function start() {
  let before = null;
  for (const limit of new Set([START, 45, 25, 12])) {
    opened.clear();
    opened.add("");
    openAsFits(limit);
    draw();
    if (before && drawn.nodes.size < 8) {
      before.forEach((id) => opened.add(id));
      draw();
      fit();
      break;
    }
    fit();
    before = [...opened];
    if (view.scale >= 0.45) break;
  }
  if (view.scale < 0.45) revealCurrent();
}

function revealCurrent() {
  const item = current ? items.get("s" + current) : items.get("o0");
  if (item) reveal(visible(item).id);
}

// --- searching

let matches = [], at = 0;

function search(text) {
  const wanted = text.trim().toLowerCase(), list = $("results");
  for (const n of drawn.nodes.values()) n.box.classList.remove("found");
  matches = [];
  at = 0;
  if (wanted) {
    for (const item of items.values()) {
      const s = item.step, l = item.leaf;
      const words = s ? [s.title, s.op, s.name, s.module, s.code, `${fileName(s.file)}:${s.line}`, "#" + s.number] : l ? [l.name] : item.path ? [item.path] : [];
      if (words.some((w) => w && w.toLowerCase().includes(wanted))) matches.push(item);
    }
    for (const item of matches) drawn.nodes.get(visible(item).id)?.box.classList.add("found");
  }
  list.hidden = !wanted;
  $("search").setAttribute("aria-expanded", String(!!wanted));
  list.replaceChildren(...matches.slice(0, 50).map((item, i) => {
    const [a, b] = labels(item);
    return make("li", { role: "option", id: "result" + i, "aria-selected": String(i === 0), onclick: () => take(i) }, `${a}  ${item.step?.module || ""}  ${b}`);
  }));
  if (wanted && !matches.length) list.append(make("li", {}, "nothing found"));
}

function take(i) {
  const item = matches[i];
  if (!item) return;
  $("results").hidden = true;
  $("search").setAttribute("aria-expanded", "false");
  for (let g = item.parent; g; g = g.parent) opened.add(g.id);
  draw();
  mark();
  if (item.kind === "group") reveal(visible(item).id);
  else chosen(item);
  drawn.nodes.get(visible(item).id)?.box.classList.add("found");
}

function selectResult(i) {
  at = Math.max(0, Math.min(Math.min(matches.length, 50) - 1, i));
  [...$("results").children].forEach((e, k) => e.setAttribute("aria-selected", String(k === at)));
  $("search").setAttribute("aria-activedescendant", "result" + at);
  $("results").children[at]?.scrollIntoView({ block: "nearest" });
}

// --- keys and buttons

const keys = {
  ArrowRight: () => go(current + 1), ArrowLeft: () => go(current - 1), ArrowDown: () => go(current + 1), ArrowUp: () => go(current - 1),
  Home: () => go(0), End: () => go(steps.length), " ": () => play(!playing), 0: fit, "+": () => zoom(1.25), "-": () => zoom(0.8),
  "/": () => $("search").focus(), Escape: () => { play(false); $("results").hidden = true; },
};

document.addEventListener("keydown", (event) => {
  const field = event.target.closest?.("input, #code, .scroll, .matrix[tabindex]");
  if (event.ctrlKey || event.metaKey || event.altKey || (field && event.key !== "Escape") || !(event.key in keys)) return;
  if (event.key === " " && event.target.closest?.("button")) return;
  event.preventDefault();
  keys[event.key]();
});

$("search").addEventListener("input", (event) => search(event.target.value));
$("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter") take(at);
  else if (event.key === "ArrowDown") selectResult(at + 1);
  else if (event.key === "ArrowUp") selectResult(at - 1);
  else if (event.key === "Escape") { event.target.value = ""; search(""); event.target.blur(); }
  else return;
  event.preventDefault();
});
for (const [id, action] of Object.entries({ first: keys.Home, previous: keys.ArrowLeft, play: keys[" "], next: keys.ArrowRight, last: keys.End, fit,
  predict: () => { predicting = !predicting; asked.clear(); $("predict").setAttribute("aria-pressed", String(predicting)); go(current, true); buildSeed(); buildLeaves(); },
  "open-all": () => openAll(true), "close-all": () => openAll(false) })) $(id).addEventListener("click", action);
$("slider").addEventListener("input", (event) => go(+event.target.value));
$("theme").addEventListener("click", () => {
  const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
window.addEventListener("resize", fit);
window.addEventListener("beforeprint", () => { go(steps.length, true); fit(); buildAllSteps(); });

const place = explanation.file ? `, from ${fileName(explanation.file)}:${explanation.line}` : "";
$("title").textContent = `Backward pass ${explanation.pass}${explanation.complete ? "" : ", broken off"}: ${steps.length} step${steps.length === 1 ? "" : "s"}, ${leaves.length} ${leaves.length === 1 ? "leaf" : "leaves"}${place}`;
$("slider").max = steps.length;
buildCode();
buildFindings();
buildFilm();
buildLive();
buildSeed();
buildLeaves();
start();
go(0, true);
document.documentElement.dataset.ready = Math.round(performance.now()); // milliseconds since the page was asked for
