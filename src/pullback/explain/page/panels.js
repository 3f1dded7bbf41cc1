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
  const scrolls = rows.length > 1 || flat.length > 4 ? { tabindex: 0, role: "group", "aria-label": `${rows.length > 1 ? "matrix" : "vector"}, ${sizeText(shape)}` } : {};
  return make("span", { class: "matrix", ...scrolls }, make("table", {}, ...rows.map((row) => make("tr", {}, ...row.map((x) => {
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
    `${shapeText(s.shape)}, ${s.dtype[0]}`].filter(Boolean).join(" · ");
  panel.append(make("p", { class: "where" }, where));
  const forward = make("section", { "aria-label": "forward" }, make("h3", {}, "Forward, down"));
  const told = new Set();
  for (const o of s.operands) {
    const name = o.name && o.name !== o.symbol ? `${o.symbol} = ${o.name}` : o.symbol;
    forward.append(make("p", { class: "formula" }, o.name && told.has(o.name) ? `${name}, as above` : name));
    if (!(o.name && told.has(o.name))) forward.append(o.value ? numbers(o.value) : make("p", { class: "where" }, "not kept"));
    told.add(o.name);
  }
  if (s.out) forward.append(make("p", { class: "formula" }, `out${s.name ? " = " + s.name : ""}`), numbers(s.out));
  const backward = make("section", { "aria-label": "backward" }, make("h3", {}, "Backward, up"));
  const several = s.upstream.filter((v) => v).length > 1;
  s.upstream.forEach((v, i) => {
    if (v || s.upstream.length === 1) backward.append(make("p", { class: "formula upstream" }, several ? `upstream gradient g${i}` : "upstream gradient g"), numbers(v));
  });
  s.downstream.forEach((d, i) => {
    const to = d.leaf !== null ? make("button", { class: "link", onclick: () => chosen(items.get("l:" + d.leaf)) }, d.leaf) : d.step !== null ? stepLink(d.step) : !d.gradient ? "nobody" : explanation.complete ? "whoever asked for it" : "nobody, as an error broke the pass off";
    const line = formulaLine(d.rule), hidden = predicting && d.gradient && !asked.has(`${n}:${i}`);
    const figures = s.upstream.length === 1 ? inNumbers(d.rule, s.upstream[0], s.operands, s.out) : null, result = written(d.gradient);
    if (figures !== null) line.append(make("span", { class: "figures" }, ` = ${figures}` + (result !== null && !hidden ? ` = ${result}` : "")));
    backward.append(line, make("p", { class: "where" }, "handed to ", to), hidden ? guess(d.gradient, `${n}:${i}`) : numbers(d.gradient));
  });
  panel.append(s.operands.length || s.out ? make("div", { class: "sides" }, forward, backward) : backward);
  if (s.kept.length) {
    const total = s.kept.reduce((a, k) => a + k.bytes, 0);
    panel.append(make("p", { class: "where" }, `Kept ${total.toLocaleString("en")} bytes for its rule: ` + s.kept.map((k) => `${k.name} ${sizeText(k.shape)}`).join(", ")));
  }
  if (s.hooks.length) panel.append(make("p", { class: "where" }, "Hooks: " + s.hooks.join(", ")));
}

// --- predict first: gradients stay hidden until they are asked for

let predicting = false;
const asked = new Set();

function guess(v, key) {
  const field = make("input", { "aria-label": "Your guess", placeholder: countOf(v) <= FEW ? `${countOf(v)} number${countOf(v) > 1 ? "s" : ""}` : "its norm" });
  const verdict = make("span", { role: "status" });
  const check = () => {
    const said = (field.value.replaceAll("\u2212", "-").match(/-?\d+(\.\d+)?(e-?\d+)?/gi) || []).map(Number);
    const right = v.values !== null && countOf(v) <= FEW ? [v.values].flat(9) : [v.norm];
    const close = said.length === right.length && said.every((x, i) => Math.abs(x - right[i]) <= 0.01 * Math.abs(right[i]) + 1e-6);
    verdict.textContent = close ? "right" : "not yet";
    if (close) setTimeout(show, 400);
  };
  const show = () => { asked.add(key); go(current, true); };
  field.addEventListener("keydown", (event) => { if (event.key === "Enter") check(); });
  return make("div", { class: "guess" }, field, make("button", { onclick: check }, "Check"), make("button", { onclick: show }, "Show"), verdict);
}

function showLeaf(leaf) {
  const panel = document.getElementById("step");
  panel.replaceChildren(make("p", { class: "step-head" }, leaf.name), make("p", { class: "where" }, `leaf · ${shapeText(leaf.shape)}, ${leaf.dtype}`));
  const value = leafValues.get(leaf.name), hidden = predicting && !asked.has("l:" + leaf.name);
  if (value) panel.append(make("p", { class: "formula" }, leaf.name), numbers(value));
  panel.append(make("p", { class: "formula upstream" }, `${leaf.name}.grad, of this pass`), hidden ? guess(leaf.gradient, "l:" + leaf.name) : numbers(leaf.gradient));
  if (leaf.before) panel.append(make("p", { class: "where" }, `.grad held a gradient of norm ${numberText(leaf.before)} before.`));
  if (leaf.uses.length > 1) {
    const parts = leaf.uses.map((u) => written(u.gradient)), sum = written(leaf.gradient);
    const text = sum !== null && leaf.uses.length <= 4 && !parts.includes(null) ? ": " + parts.join(" + ") + (hidden ? "" : " = " + sum) : "";
    panel.append(make("p", { class: "formula" }, `the sum over ${leaf.uses.length} uses${text}`));
    const rows = [...leaf.uses].sort((a, b) => b.gradient.norm - a.gradient.norm).slice(0, 50);
    panel.append(make("table", {}, ...rows.map((u) => make("tr", {}, make("td", {}, stepLink(u.step)), make("td", {}, titleOf(steps[u.step - 1])), make("td", {}, brief(u.gradient))))));
  }
}

// For print: a line for each step.
function buildAllSteps(most = 300) {
  const row = (s) => make("tr", {}, make("td", {}, String(s.number)), make("td", {}, titleOf(s) + (s.module ? ` in ${s.module}` : "")),
    make("td", {}, s.upstream.map(brief).join("; ")), make("td", {}, s.downstream.map((d) => `${d.rule.split(", where ")[0]} (${brief(d.gradient)})`).join("; ")));
  const head = make("tr", {}, ...["step", "operation", "upstream gradient", "what it hands on"].map((t) => make("th", { scope: "col" }, t)));
  document.getElementById("all-steps").replaceChildren(make("h2", {}, "All steps"), make("table", {}, make("thead", {}, head), make("tbody", {}, ...steps.slice(0, most).map(row))),
    ...(steps.length > most ? [make("p", { class: "where" }, `and ${steps.length - most} more steps`)] : []));
}

// --- code

const TOKENS = /(#.*)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\b(and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield|True|False|None)\b|\b(\d[\w.]*)/g;

// A line of Python, its words coloured.
function coloured(text) {
  const parts = [];
  let at = 0;
  for (const m of text.matchAll(TOKENS)) {
    if (m.index > at) parts.push(text.slice(at, m.index));
    parts.push(make("span", { class: m[1] ? "comment" : m[2] ? "string" : m[3] ? "keyword" : "literal" }, m[0]));
    at = m.index + m[0].length;
  }
  if (at < text.length) parts.push(text.slice(at));
  return parts;
}

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
      const content = [make("span", { class: "number" }, String(i + 1)), make("span", {}, ...coloured(text || " "))];
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

const more = (f) => make("small", {}, "pullback errors " + f.page); // the command that prints the page about it

function buildFindings() {
  const list = document.getElementById("findings");
  if (!explanation.findings.length) document.getElementById("findings-section").hidden = true;
  for (const f of explanation.findings) {
    const action = () => (f.steps.length ? go(f.steps[0]) : f.leaves.length && items.has("l:" + f.leaves[0]) ? chosen(items.get("l:" + f.leaves[0])) : null);
    list.append(make("li", {}, make("button", { class: f.severity, onclick: action }, make("span", { class: "hidden" }, f.severity + ": "), whole(f.text)), more(f)));
  }
}

// --- the seed, live: every gradient is a sum over the seed's elements, of what each alone would give

const live = explanation.live, seedNow = live ? [...live.seed] : [];

function reseed(k, value) {
  seedNow[k] = value;
  for (const [at, units] of Object.entries(live.units)) {
    const v = numbersIn[at], flat = units[0].map((_, j) => seedNow.reduce((sum, x, i) => sum + x * units[i][j], 0));
    Object.assign(v, { values: reshaped(flat, v.shape), norm: Math.hypot(...flat), mean: flat.reduce((a, b) => a + b, 0) / flat.length,
      min: Math.min(...flat), max: Math.max(...flat), zeros: flat.filter((x) => x === 0).length / flat.length, nan: 0, inf: 0 });
  }
  for (const s of explanation.seeds) {
    s.seed = seedNow;
    s.gradient = s.gradient.map((_, j) => seedNow.reduce((sum, x, i) => sum + x * s.jacobian[i][j], 0));
  }
  draw();
  go(current, true);
  buildSeed();
  buildLeaves();
}

function reshaped(flat, shape) {
  if (!shape.length) return flat[0];
  const size = flat.length / shape[0];
  return shape.length === 1 ? flat : Array.from({ length: shape[0] }, (_, i) => reshaped(flat.slice(i * size, (i + 1) * size), shape.slice(1)));
}

function buildLive() {
  const panel = document.getElementById("live");
  if (!live) return;
  const most = Math.max(1, ...live.seed.map(Math.abs)) * 2, dials = make("div", { class: "dials", role: "group", "aria-label": "The seed" });
  const rows = live.elements.map((name, k) => {
    const slider = make("input", { type: "range", min: -most, max: most, step: most / 40, "aria-label": `seed of ${name}, slider` });
    const field = make("input", { type: "number", step: "any", "aria-label": `seed of ${name}` });
    slider.value = field.value = live.seed[k];
    slider.addEventListener("input", () => { field.value = slider.value; reseed(k, +slider.value); });
    field.addEventListener("input", () => { if (field.value !== "") { slider.value = field.value; reseed(k, +field.value); } });
    dials.append(make("span", {}, name), slider, field);
    return [slider, field];
  });
  const back = make("button", { onclick: () => { rows.forEach((fields, k) => { for (const f of fields) f.value = live.seed[k]; }); live.seed.forEach((x, k) => { seedNow[k] = x; }); reseed(0, live.seed[0]); } }, "As it was");
  panel.append(make("p", { class: "where" }, "Change the seed: every gradient on this page changes with it."), dials, back);
}

function buildSeed() {
  const panel = document.getElementById("seed");
  panel.replaceChildren();
  if (!explanation.seeds.length && !live) document.getElementById("seed-section").hidden = true;
  const figure = (content, caption) => make("figure", {}, content, make("figcaption", {}, caption));
  for (const s of explanation.seeds) {
    const n = s.seed.length, m = s.gradient.length, jacobian = matrix(s.jacobian, [n, m]), gradient = matrix(s.gradient, [m]);
    if (predicting) gradient.classList.add("hidden");
    panel.append(make("div", { class: "equation" }, figure(matrix(s.seed, [n]), `seed vᵀ, one for each of ${n === 1 ? s.elements[0] : "the outputs"}`), "·",
      figure(jacobian, `Jacobian J, ${n}×${m}: d output / d ${s.leaf}`), "=", figure(gradient, `gradient of ${s.leaf}`)));
    const rows = [...jacobian.querySelectorAll("tr")];
    gradient.querySelectorAll("td").forEach((cell, j) => {
      const light = (on) => { for (const row of rows) row.cells[j].classList.toggle("lit", on); };
      const tell = () => { light(true); document.getElementById("why").textContent = whyText(s, j); };
      cell.tabIndex = 0;
      cell.addEventListener("mouseenter", tell);
      cell.addEventListener("focus", tell);
      cell.addEventListener("mouseleave", () => light(false));
      cell.addEventListener("blur", () => light(false));
    });
  }
}

// Which elements of the seed made an element of a gradient, and through which steps it came.
function whyText(s, j) {
  const index = [];
  for (let rest = j, k = s.shape.length - 1; k >= 0; k--) { index.unshift(rest % s.shape[k]); rest = Math.floor(rest / s.shape[k]); }
  const name = `${s.leaf}.grad` + (index.length ? `[${index.join(", ")}]` : "");
  const parts = s.seed.map((x, i) => [x, s.jacobian[i][j], s.elements[i]]).filter(([, y]) => y !== 0);
  const sum = parts.map(([x, y, e]) => `${numberText(x)} · ${numberText(y)} (of ${e})`).join(" + ") || "0";
  const leaf = leaves.find((l) => l.name === s.leaf), uses = leaf.uses.filter((u) => u.gradient?.values != null);
  const ways = uses.length > 1 ? `; by way of ${uses.map((u) => `step ${u.step}: ${numberText([u.gradient.values].flat(9)[j])}`).join(", ")}` : "";
  return whole(`${name} = ${sum} = ${numberText(s.gradient[j])}${ways}`);
}

// Thousands of rows take long to lay out: they come when asked for.
function buildLeaves(most = 100) {
  const row = (leaf) => make("tr", {}, make("td", {}, make("button", { class: "link", onclick: () => chosen(items.get("l:" + leaf.name)) }, leaf.name)),
    make("td", {}, sizeText(leaf.shape)), make("td", {}, predicting && !asked.has("l:" + leaf.name) ? "?" : numberText(leaf.gradient.norm)), make("td", {}, String(leaf.uses.length || 1)));
  const head = make("tr", {}, ...["leaf", "shape", "gradient norm", "uses"].map((t) => make("th", { scope: "col" }, t)));
  const more = leaves.length > most ? make("button", { onclick: () => buildLeaves(Infinity) }, `Show all ${leaves.length} leaves`) : null;
  document.getElementById("leaves").replaceChildren(...[make("div", { class: "scroll" },
    make("table", {}, make("thead", {}, head), make("tbody", {}, ...leaves.slice(0, most).map(row)))), more].filter(Boolean));
}
