"use strict";
// What the page shows: the explanation, and the tree of modules in which its steps, leaves and outputs hang.
//
// An item is {id, kind: "step" | "leaf" | "output" | "group", parent, ...}; a group has `items`. Groups are modules, and
// where a group would hold too many items for a picture, runs of steps.

// Of a run several passes are kept: the address says which is shown (#pass=3), else it is the first of the list.
const kept = JSON.parse(document.getElementById("data").textContent), film = kept.film;
const asked_for = Number((/pass=(\d+)/.exec(location.hash) || [])[1]);
const explanation = kept.passes.find((p) => p.pass === asked_for) ?? kept.passes[0];
const { roots, texts } = explanation;

// Rows become objects, as in the explanation's own data.
const numbersIn = explanation.numbers.map(([shape, dtype, norm, mean, min, max, zeros, nan, inf, values, stored]) =>
  ({ shape, dtype: texts[dtype], norm, mean, min, max, zeros, nan, inf, values, stored }));
const numbersAt = (i) => (i < 0 ? null : numbersIn[i]);
const steps = explanation.steps.map(([op, title, name, module, call, file, line, code, shape, dtype, upstream, downstream, kept, hooks, operands, out], i) => ({
  number: i + 1, op: texts[op], title: texts[title], name: texts[name], module: texts[module], call, file: texts[file], line, code: texts[code], shape,
  dtype: [dtype].flat().map((d) => texts[d]), upstream: upstream.map(numbersAt), hooks,
  downstream: downstream.map(([argument, step, leaf, rule, gradient]) => ({ argument: texts[argument], step, leaf: texts[leaf], rule: texts[rule], gradient: numbersAt(gradient) })),
  kept: kept.map(([name, shape, bytes]) => ({ name: texts[name], shape, bytes })),
  operands: operands.map(([symbol, name, value]) => ({ symbol: texts[symbol], name: texts[name], value: numbersAt(value) })), out: numbersAt(out),
}));
const leaves = explanation.leaves.map(([name, shape, dtype, gradient, before, uses]) => ({
  name: texts[name], shape, dtype: texts[dtype], gradient: numbersAt(gradient), before, uses: uses.map(([step, gradient]) => ({ step, gradient: numbersAt(gradient) })),
}));
for (const root of roots) root.seed = numbersAt(root.seed);
const modulesAt = new Map(); // the modules of the steps of each line
for (const s of steps) modulesAt.set(`${s.file}:${s.line}`, (modulesAt.get(`${s.file}:${s.line}`) || new Set()).add(s.module));
const MOST = 80; // items that a group may hold; beyond, they are put in runs
const START = steps.length > 500 ? 45 : 90; // items to show at first, at most: of a large graph fewer, to open quickly

const items = new Map(); // by id
const top = { id: "", kind: "group", label: "", parent: null, items: [] };

function add(item, parent) {
  item.parent = parent;
  parent.items.push(item);
  items.set(item.id, item);
  return item;
}

function group(path) {
  if (!path) return top;
  const id = "m:" + path, known = items.get(id);
  if (known) return known;
  const cut = path.lastIndexOf(".");
  return add({ id, kind: "group", label: path.slice(cut + 1), path, items: [] }, group(cut < 0 ? "" : path.slice(0, cut)));
}

// A module that is called more often than this is one box, "cell × 50", with a group for each call.
const REPEATS = 3;
const callsOf = new Map();
for (const s of steps) if (s.module && s.call) callsOf.set(s.module, Math.max(callsOf.get(s.module) || 0, s.call));

function home(step) {
  const g = group(step.module), calls = callsOf.get(step.module) || 0;
  if (calls <= REPEATS || g === top) return g;
  g.calls = calls;
  const id = `${g.id}#${step.call}`;
  return items.get(id) || add({ id, kind: "group", label: `call ${step.call}`, call: step.call, items: [] }, g);
}

// The largest norm of a gradient that came to each call, the first call first.
function normsOfCalls(g) {
  const found = new Array(g.calls).fill(null);
  for (const n of stepsIn(g)) {
    const s = steps[n - 1];
    if (s.module !== g.path || !s.call) continue;
    for (const v of s.upstream) if (v && typeof v.norm === "number") found[s.call - 1] = Math.max(found[s.call - 1] ?? 0, v.norm);
  }
  return found;
}

function buildTree() {
  for (const step of steps) add({ id: "s" + step.number, kind: "step", step }, home(step));
  for (const leaf of leaves) {
    const homes = new Set(leaf.uses.map((u) => steps[u.step - 1].module || ""));
    add({ id: "l:" + leaf.name, kind: "leaf", leaf }, homes.size === 1 ? group([...homes][0]) : top);
  }
  roots.forEach((root, i) => add({ id: "o" + i, kind: "output", root }, top));
  chunk(top);
}

function chunk(parent) {
  for (const item of parent.items) if (item.kind === "group") chunk(item);
  const rest = parent.items.filter((i) => i.kind === "output"), many = parent.items.filter((i) => i.kind !== "output");
  if (many.length <= MOST) return;
  const order = (i) => (i.kind === "leaf" ? Math.max(0, ...i.leaf.uses.map((u) => u.step)) : stepsIn(i)[0] ?? 0);
  const name = (i) => (i.kind === "group" ? i.label : i.kind === "step" ? "step " + i.step.number : i.leaf.name);
  many.sort((a, b) => order(a) - order(b));
  parent.items = rest;
  const size = Math.max(25, Math.ceil(many.length / 40));
  for (let k = 0; k < many.length; k += size) {
    const part = many.slice(k, k + size);
    const run = add({ id: `r:${parent.id}:${k}`, kind: "group", label: `${name(part[0])} to ${name(part[part.length - 1])}`, items: [] }, parent);
    for (const item of part) add(item, run);
    chunk(run);
  }
}

function stepsIn(item) {
  if (item.kind === "step") return [item.step.number];
  if (item.kind !== "group") return [];
  return (item.numbers ??= item.items.flatMap(stepsIn).sort((a, b) => a - b));
}

// Which groups are open: at first as many as leave the picture small, the outermost first.
const opened = new Set([""]);

function openAsFits(limit) {
  let shown = top.items.length;
  const waiting = top.items.filter((i) => i.kind === "group");
  while (waiting.length) {
    const g = waiting.shift();
    if (g.calls) continue; // repeated calls are opened when they are asked for
    if (shown + g.items.length > limit) continue;
    shown += g.items.length - 1;
    opened.add(g.id);
    waiting.push(...g.items.filter((i) => i.kind === "group"));
  }
}

// What stands for an item in the picture: itself, or the outermost closed group around it.
function visible(item) {
  let shown = item;
  for (let i = item.parent; i; i = i.parent) if (!opened.has(i.id)) shown = i;
  return shown;
}

// Every use of a value: data from `from` to `to`, and the gradient that goes back at step `step`.
const links = [];

function buildLinks() {
  for (const step of steps) {
    for (const d of step.downstream) {
      const id = d.leaf !== null ? "l:" + d.leaf : d.step !== null ? "s" + d.step : null;
      if (id && items.has(id)) links.push({ from: id, to: "s" + step.number, step: step.number, gradient: d.gradient });
    }
  }
  roots.forEach((root, i) => {
    const leaf = root.step === null ? "l:" + root.name : "s" + root.step;
    if (items.has(leaf)) links.push({ from: leaf, to: "o" + i, step: 0, gradient: root.seed });
  });
}

// --- numbers as text

// A number that no line break goes through: its hyphen is a minus sign.
const whole = (text) => text.replace(/(\d)e-(\d)/g, "$1e\u2212$2").replace(/(^|[\s[(,])-(\d)/g, "$1\u2212$2");

const FEW = 6; // arrays of so many elements are written out
const countOf = (v) => v.shape.reduce((a, b) => a * b, 1);
const nestedText = (x) => (Array.isArray(x) ? "[" + x.map(nestedText).join(", ") + "]" : numberText(x));
const written = (v) => (v && v.values !== null && countOf(v) > 0 && countOf(v) <= FEW ? nestedText(v.values) : null);

// The right side of a formula with the values in the place of the names, if all are known and few.
function inNumbers(rule, g, operands, out) {
  const text = rule.slice(rule.indexOf(" = ") + 3), names = /[\p{L}_][\p{L}\d_]*(?![\p{L}\d_(])/gu;
  if (!rule.includes(" = ") || text.includes(", where ") || /^[\p{L}_]+$/u.test(text)) return null;
  const values = { g, out };
  for (const o of operands) values[o.symbol] = o.value;
  let missing = false;
  const found = text.replace(names, (name) => {
    if (name === "if" || name === "else") return name;
    const value = written(values[name]);
    if (value === null) missing = true;
    return value !== null && /^[-\u2212]/.test(value) ? `(${value})` : value;
  });
  return missing || found.length > 90 ? null : found;
}

// The values of leaves, by name, as operations used them.
const leafValues = new Map();
for (const s of steps) for (const o of s.operands) if (o.name && o.value && !leafValues.has(o.name)) leafValues.set(o.name, o.value);

function numberText(x) {
  if (typeof x !== "number") return String(x);
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e5 || size < 1e-3) return whole(x.toExponential(2).replace("e+", "e"));
  return String(+x.toPrecision(4));
}

const shapeText = (shape) => (shape.length ? "shape " + sizeText(shape) : "scalar");
const sizeText = (shape) => (shape.length ? (Array.isArray(shape[0]) ? shape.map(sizeText).join(", ") : shape.join("×")) : "scalar");

function brief(v) {
  if (!v) return "none";
  if (v.values !== null && v.shape.reduce((a, b) => a * b, 1) <= 4) return JSON.stringify(round(v.values)).replaceAll('"', "").replaceAll(",", ", ");
  return `${sizeText(v.shape)}, norm ${numberText(v.norm)}`;
}

const round = (v) => (Array.isArray(v) ? v.map(round) : typeof v === "number" ? +v.toPrecision(4) : v);
const titleOf = (step) => step.title;
const fileName = (path) => (path || "").replaceAll("\\", "/").split("/").pop();

buildTree();
buildLinks();
