// The panels: the current step's rule and numbers, the code, the findings, the seed and the leaves.

function make(name, properties = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else if (key === "class") e.className = value;
    else e.setAttribute(key, value);
  }
  e.append(...children.filter((c) => c !== null));
  return e;
}

const stepLink = (n) => make("button", { class: "link", onclick: () => go(n) }, `step ${n}`);

function numbers(v) {
  if (!v) return make("p", {}, "none");
  const rows = [["shape", sizeText(v.shape)], ["norm", numberText(v.norm)], ["mean", numberText(v.mean)],
    ["range", `${numberText(v.min)} to ${numberText(v.max)}`], ["zeros", `${+(v.zeros * 100).toFixed(1)} %`]];
  if (v.stored !== null) rows.push(["stored", `${v.stored}, sparse`]);
  if (v.nan) rows.push(["nan", v.nan]);
  if (v.inf) rows.push(["inf", v.inf]);
  const single = v.shape.every((n) => n === 1);
  const list = make("dl", { class: "numbers" }, ...rows.map(([name, text]) => make("div", {}, make("dt", {}, name), make("dd", {}, String(text)))));
  return make("div", {}, v.values !== null && (single || v.zeros < 1) ? matrix(v.values, v.shape) : "", single ? "" : list);
}

// Up to two dimensions as they are; of more, the last two, one below another.
function matrix(values, shape) {
  if (shape.length > 2) return make("div", { class: "scroll" }, ...values.map((part) => matrix(part, shape.slice(1))));
  const rows = shape.length === 2 ? values : [shape.length ? values : [values]];
  const flat = rows.flat().filter((x) => typeof x === "number").map(Math.abs), most = Math.max(...flat, 1e-300);
  return make("span", { class: "matrix" }, make("table", {}, ...rows.map((row) => make("tr", {}, ...row.map((x) => {
    const cell = make("td", {}, numberText(x));
    if (typeof x === "number" && x !== 0) {
      const share = Math.round((45 * Math.abs(x)) / most);
      cell.style.background = `color-mix(in srgb, var(${x > 0 ? "--gradient" : "--accent"}) ${share}%, transparent)`;
    }
    return cell;
  })))));
}

function formulaLine(rule) {
  const cut = rule.indexOf(" = "), p = make("p", { class: "formula" });
  if (cut > 0 && cut < 30) p.append(make("b", {}, rule.slice(0, cut)), rule.slice(cut));
  else p.append(rule);
  return p;
}

function showStep(n) {
  const panel = document.getElementById("step");
  panel.replaceChildren();
  if (n === 0) {
    panel.append(make("p", { class: "step-head" }, "Before the first step"), make("p", { class: "where" },
      "The seed enters at the output. Press → to let the gradient flow back, a step at a time."));
    for (const root of roots) {
      panel.append(make("p", { class: "formula upstream" }, `${root.name || "output"}: seed`), numbers(root.seed));
      if (!root.given) panel.append(make("p", { class: "where" }, "The seed was left out: for a scalar it is 1."));
    }
    return;
  }
  const s = steps[n - 1];
  panel.append(make("p", { class: "step-head" }, `${n}  ${titleOf(s)}${s.name ? " → " + s.name : ""}`));
  const where = [s.module ? s.module + (s.call > 1 ? ` (call ${s.call})` : "") : null, s.line ? `${fileName(s.file)}:${s.line}` : null,
    `${sizeText(s.shape)} ${s.dtype[0]}`].filter(Boolean).join(" · ");
  panel.append(make("p", { class: "where" }, where));
  const several = s.upstream.filter((v) => v).length > 1;
  s.upstream.forEach((v, i) => {
    if (v || s.upstream.length === 1) panel.append(make("p", { class: "formula upstream" }, several ? `upstream gradient g${i}` : "upstream gradient g"), numbers(v));
  });
  for (const d of s.downstream) {
    const to = d.leaf !== null ? make("button", { class: "link", onclick: () => chosen(items.get("l:" + d.leaf)) }, d.leaf) : d.step !== null ? stepLink(d.step) : !d.gradient ? "nobody" : explanation.complete ? "whoever asked for it" : "nobody, as an error broke the pass off";
    panel.append(formulaLine(d.rule), make("p", { class: "where" }, "handed to ", to), numbers(d.gradient));
  }
  if (s.kept.length) {
    const total = s.kept.reduce((a, k) => a + k.bytes, 0);
    panel.append(make("p", { class: "where" }, `Kept ${total.toLocaleString("en")} bytes for its rule: ` + s.kept.map((k) => `${k.name} ${sizeText(k.shape)}`).join(", ")));
  }
  if (s.hooks.length) panel.append(make("p", { class: "where" }, "Hooks: " + s.hooks.join(", ")));
}

function showLeaf(leaf) {
  const panel = document.getElementById("step");
  panel.replaceChildren(make("p", { class: "step-head" }, leaf.name), make("p", { class: "where" }, `leaf · ${sizeText(leaf.shape)} ${leaf.dtype}`),
    make("p", { class: "formula upstream" }, "gradient of this pass"), numbers(leaf.gradient));
  if (leaf.before) panel.append(make("p", { class: "where" }, `.grad held a gradient of norm ${numberText(leaf.before)} before.`));
  if (leaf.uses.length > 1) {
    panel.append(make("p", { class: "formula" }, `the sum over ${leaf.uses.length} uses`));
    const rows = [...leaf.uses].sort((a, b) => b.gradient.norm - a.gradient.norm).slice(0, 50);
    panel.append(make("table", {}, ...rows.map((u) => make("tr", {}, make("td", {}, stepLink(u.step)), make("td", {}, titleOf(steps[u.step - 1])), make("td", {}, brief(u.gradient))))));
  }
}

// --- code

const lineElements = new Map(); // "file:line" -> element

function buildCode() {
  const panel = document.getElementById("code"), byLine = new Map();
  for (const s of steps) {
    const key = `${s.file}:${s.line}`;
    if (s.line && !byLine.has(key)) byLine.set(key, []);
    if (s.line) byLine.get(key).push(s.number);
  }
  for (const [file, lines] of Object.entries(explanation.sources)) {
    panel.append(make("h3", { title: file }, file.replaceAll("\\", "/").split("/").slice(-2).join("/")));
    lines.forEach((text, i) => {
      const key = `${file}:${i + 1}`, numbersOf = byLine.get(key);
      const content = [make("span", { class: "number" }, String(i + 1)), make("span", {}, text || " ")];
      const line = numbersOf
        ? make("button", { class: "line", "data-steps": numbersOf.length, "aria-label": `line ${i + 1}: ${text.trim()}; ${numbersOf.length} step${numbersOf.length > 1 ? "s" : ""}`,
            onclick: () => go(numbersOf[(numbersOf.indexOf(current) + 1) % numbersOf.length]) }, ...content)
        : make("div", { class: "line" }, ...content);
      lineElements.set(key, line);
      panel.append(line);
    });
  }
  if (!lineElements.size) panel.append(make("p", { class: "where" }, "The program's source is not at hand."));
}

function showLine(n) {
  document.querySelector("#code .line.current")?.classList.remove("current");
  const s = steps[n - 1], line = s && lineElements.get(`${s.file}:${s.line}`);
  if (!line) return;
  line.classList.add("current");
  const panel = document.getElementById("code"), at = line.offsetTop - panel.offsetTop;
  const above = Math.floor(panel.clientHeight / 2 / line.offsetHeight) * line.offsetHeight; // whole lines
  if (at < panel.scrollTop + 20 || at > panel.scrollTop + panel.clientHeight - 40) panel.scrollTop = at - above;
}

// --- what belongs to the whole pass

function buildFindings() {
  const list = document.getElementById("findings");
  if (!explanation.findings.length) document.getElementById("findings-section").hidden = true;
  for (const f of explanation.findings) {
    const action = () => (f.steps.length ? go(f.steps[0]) : f.leaves.length && items.has("l:" + f.leaves[0]) ? chosen(items.get("l:" + f.leaves[0])) : null);
    list.append(make("li", {}, make("button", { class: f.severity, onclick: action }, make("span", { class: "hidden" }, f.severity + ": "), f.text)));
  }
}

function buildSeed() {
  const panel = document.getElementById("seed");
  if (!explanation.seeds.length) document.getElementById("seed-section").hidden = true;
  const figure = (content, caption) => make("figure", {}, content, make("figcaption", {}, caption));
  for (const s of explanation.seeds) {
    const n = s.seed.length, m = s.gradient.length;
    panel.append(make("div", { class: "equation" }, figure(matrix(s.seed, [n]), `seed vᵀ, one for each of ${n === 1 ? s.elements[0] : "the outputs"}`), "·",
      figure(matrix(s.jacobian, [n, m]), `Jacobian J, ${n}×${m}: d output / d ${s.leaf}`), "=", figure(matrix(s.gradient, [m]), `gradient of ${s.leaf}`)));
  }
}

// Thousands of rows take long to lay out: they come when asked for.
function buildLeaves(most = 100) {
  const row = (leaf) => make("tr", {}, make("td", {}, make("button", { class: "link", onclick: () => chosen(items.get("l:" + leaf.name)) }, leaf.name)),
    make("td", {}, sizeText(leaf.shape)), make("td", {}, numberText(leaf.gradient.norm)), make("td", {}, String(leaf.uses.length || 1)));
  const head = make("tr", {}, ...["leaf", "shape", "gradient norm", "uses"].map((t) => make("th", { scope: "col" }, t)));
  const more = leaves.length > most ? make("button", { onclick: () => buildLeaves(Infinity) }, `Show all ${leaves.length} leaves`) : null;
  document.getElementById("leaves").replaceChildren(...[make("div", { class: "scroll" },
    make("table", {}, make("thead", {}, head), make("tbody", {}, ...leaves.slice(0, most).map(row)))), more].filter(Boolean));
}
