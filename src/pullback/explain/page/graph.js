// The picture: layout by dagre, drawn as SVG. Data flows down in thin lines; beside each, the gradient flows up.

const SVG = "http://www.w3.org/2000/svg";
const picture = document.getElementById("picture");
const HEAD = 8; // the length of an arrowhead
let drawn = { nodes: new Map(), edges: [], width: 1, height: 1 };
let view = { x: 0, y: 0, scale: 1 };

function element(name, attributes = {}, parent = null, text = null) {
  const e = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  if (text !== null) e.textContent = text;
  if (parent) parent.append(e);
  return e;
}

const clip = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

function labels(item) {
  if (item.kind === "step") {
    const s = item.step;
    const own = s.line && modulesAt.get(`${s.file}:${s.line}`).size === 1; // else it is the call of a module, and says little
    return [`${s.number}  ${titleOf(s)}${s.name ? " → " + s.name : ""}`, clip(own ? `line ${s.line}: ${s.code}` : shapeText(Array.isArray(s.shape[0]) ? s.shape[0] : s.shape), 30)];
  }
  if (item.kind === "leaf") return [clip(nameIn(item), 26), clip(written(leafValues.get(item.leaf.name)) ?? shapeText(item.leaf.shape), 26)];
  if (item.kind === "output") return [item.root.name || "output", "seed " + clip(brief(item.root.seed), 20)];
  const n = stepsIn(item).length;
  return ["▸ " + clip(item.label, 26) + timesText(item), `${n} step${n === 1 ? "" : "s"}`];
}

const timesText = (item) => (item.calls ? ` × ${item.calls}` : "");
const TALL = 66; // the height of a box with a plot in it

// A leaf's name, without the path of the open module that it is drawn in.
function nameIn(item) {
  const path = item.parent.path;
  return path && opened.has(item.parent.id) && item.leaf.name.startsWith(path + ".") ? item.leaf.name.slice(path.length + 1) : item.leaf.name;
}

function collectVisible() {
  const shown = [], clusters = [];
  const walk = (g) => {
    for (const item of g.items) {
      if (item.kind === "group" && opened.has(item.id)) {
        clusters.push(item);
        walk(item);
      } else shown.push(item);
    }
  };
  walk(top);
  return { shown, clusters };
}

function draw() {
  const { shown, clusters } = collectVisible();
  const g = new dagre.graphlib.Graph({ compound: true });
  g.setGraph({ rankdir: "TB", nodesep: 26, ranksep: 44, edgesep: 14, marginx: 20, marginy: 20 });
  g.setDefaultEdgeLabel(() => ({}));
  for (const item of shown) {
    const [a, b] = labels(item);
    g.setNode(item.id, { width: Math.max(66, 24 + Math.max(a.length * 7.2, b.length * 6.5)), height: item.calls ? TALL : 40 });
  }
  for (const c of clusters) g.setNode(c.id, { label: c.label });
  for (const item of [...shown, ...clusters]) if (item.parent !== top) g.setParent(item.id, item.parent.id);
  const edges = new Map();
  for (const link of links) {
    const from = visible(items.get(link.from)).id, to = visible(items.get(link.to)).id;
    if (from === to) continue;
    const key = from + "\n" + to;
    if (!edges.has(key)) edges.set(key, { from, to, square: 0, bad: false, first: Infinity, steps: [] });
    const edge = edges.get(key);
    edge.steps.push(link.step);
    edge.first = Math.min(edge.first, link.step);
    if (link.gradient) {
      if (typeof link.gradient.norm === "number") edge.square += link.gradient.norm ** 2;
      edge.bad ||= link.gradient.nan > 0 || link.gradient.inf > 0;
    }
  }
  for (const e of edges.values()) g.setEdge(e.from, e.to, {});
  dagre.layout(g);
  paint(g, shown, clusters, [...edges.values()]);
}

function paint(g, shown, clusters, edges) {
  picture.replaceChildren();
  const defs = element("defs", {}, picture);
  for (const [kind, size] of [["data", HEAD], ["gradient", HEAD + 4]]) { // what is wider than a line can be
    const m = element("marker", { id: "arrow-" + kind, viewBox: "0 0 10 10", refX: 0.5, refY: 5, markerWidth: HEAD, markerHeight: size, markerUnits: "userSpaceOnUse",
      orient: "auto", preserveAspectRatio: "none" }, defs);
    element("path", { d: "M0 0L10 5L0 10z" }, m);
  }
  const world = element("g", { id: "world" }, picture);
  for (const c of clusters) {
    const n = g.node(c.id);
    const box = element("g", { class: "cluster", "data-id": c.id }, world);
    element("rect", { x: n.x - n.width / 2, y: n.y - n.height / 2 - 8, width: n.width, height: n.height + 8, rx: 9 }, box);
    const label = element("text", { class: "label", x: n.x - n.width / 2 + 8, y: n.y - n.height / 2 + 7, tabindex: 0, role: "button",
      "aria-expanded": "true", "aria-label": `Close module ${c.label}` }, box, "▾ " + clip(c.label + timesText(c), Math.max(8, Math.floor(n.width / 7) - 2)));
    onActivate(label, () => toggle(c.id));
  }
  const sizes = edges.map((e) => Math.sqrt(e.square)).filter((x) => x > 0 && Number.isFinite(x)).map(Math.log10);
  const low = Math.min(...sizes), high = Math.max(...sizes);
  drawn = { nodes: new Map(), edges: [], width: g.graph().width || 1, height: g.graph().height || 1 };
  for (const e of edges) {
    const points = g.edge(e.from, e.to).points;
    element("path", { class: "edge data", d: curve(cut(shift(points, -4))), "marker-end": "url(#arrow-data)" }, world);
    const norm = Math.sqrt(e.square);
    const width = e.bad ? 7 : norm > 0 && Number.isFinite(norm) ? 1.6 + (high > low ? (5.4 * (Math.log10(norm) - low)) / (high - low) : 2) : 1.6;
    const path = element("path", { d: curve(cut(shift(points, 5).reverse())), "stroke-width": width.toFixed(2), "marker-end": "url(#arrow-gradient)",
      class: "edge gradient" + (norm === 0 && !e.bad ? " zero" : "") + (e.bad ? " bad" : "") }, world);
    element("title", {}, path, `gradient norm ${numberText(norm)}${e.bad ? ", with nan or inf" : ""}`);
    drawn.edges.push({ ...e, path });
  }
  for (const item of shown) paintNode(g.node(item.id), item, world);
  transform();
}

function paintNode(n, item, world) {
  const [a, b] = labels(item);
  const kind = item.kind === "group" ? "closed" : item.kind;
  const box = element("g", { class: "node " + kind, "data-id": item.id, tabindex: 0, role: "button", transform: `translate(${n.x - n.width / 2},${n.y - n.height / 2})`,
    "aria-label": item.kind === "group" ? `Open module ${item.path || item.label}, ${b}` : `${item.kind} ${a}, ${b}` }, world);
  if (item.kind === "group") box.setAttribute("aria-expanded", "false");
  element("rect", { width: n.width, height: n.height, rx: item.kind === "leaf" ? 20 : 7 }, box);
  element("text", { x: n.width / 2, y: 17, "text-anchor": "middle" }, box, a);
  element("text", { x: n.width / 2, y: 31, "text-anchor": "middle", class: "small" }, box, b);
  if (item.calls) sparkline(normsOfCalls(item), n.width - 16, box);
  onActivate(box, () => (item.kind === "group" ? toggle(item.id) : chosen(item)));
  drawn.nodes.set(item.id, { ...n, box, item });
}

// The norm of the gradient over the calls of a module, the first call at the left, on a logarithmic scale.
function sparkline(norms, width, box) {
  const found = norms.filter((x) => x > 0).map(Math.log10), low = Math.min(...found), high = Math.max(...found);
  let d = "", pen = "M";
  norms.forEach((x, i) => {
    if (!(x > 0)) { pen = "M"; return; }
    d += `${pen}${(8 + (width * i) / Math.max(1, norms.length - 1)).toFixed(1)} ${(60 - (high > low ? (20 * (Math.log10(x) - low)) / (high - low) : 10)).toFixed(1)}`;
    pen = "L";
  });
  const path = element("path", { class: "spark", d }, box);
  element("title", {}, path, found.length ? `gradient norm over ${norms.length} calls: ${numberText(10 ** low)} to ${numberText(10 ** high)}` : "no gradient");
}

function shift(points, by) {
  return points.map((p) => ({ x: p.x + by, y: p.y }));
}

// Where the arrowhead begins that ends at the last point.
function cut(points) {
  const p = points[points.length - 2], q = points[points.length - 1], k = HEAD / Math.max(HEAD, Math.hypot(q.x - p.x, q.y - p.y));
  return [...points.slice(0, -1), { x: q.x + (p.x - q.x) * k, y: q.y + (p.y - q.y) * k }];
}

function curve(points) {
  if (points.length < 3) return "M" + points.map((p) => `${p.x.toFixed(1)} ${p.y.toFixed(1)}`).join("L");
  let d = `M${points[0].x.toFixed(1)} ${points[0].y.toFixed(1)}`;
  for (let i = 1; i < points.length - 1; i++) {
    const p = points[i], q = points[i + 1], end = i === points.length - 2 ? q : { x: (p.x + q.x) / 2, y: (p.y + q.y) / 2 };
    d += `Q${p.x.toFixed(1)} ${p.y.toFixed(1)} ${end.x.toFixed(1)} ${end.y.toFixed(1)}`;
  }
  return d;
}

function onActivate(e, action) {
  e.addEventListener("click", (event) => { if (!moved) { event.stopPropagation(); action(); } });
  e.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); action(); }
  });
}

function toggle(id) {
  const before = drawn.nodes.get(id);
  if (opened.has(id)) opened.delete(id);
  else opened.add(id);
  draw();
  mark();
  const now = drawn.nodes.get(id);
  if (now && !before) now.box.focus({ preventScroll: true });
  else document.querySelector(`.cluster[data-id="${CSS.escape(id)}"] .label`)?.focus({ preventScroll: true });
  if (drawn.width * view.scale > picture.clientWidth * 3 || opened.size < 3) fit();
}

// --- looking around

let moved = false;

function transform() {
  document.getElementById("world")?.setAttribute("transform", `translate(${view.x},${view.y}) scale(${view.scale})`);
}

function fit() {
  const w = picture.clientWidth || 800, h = picture.clientHeight || 600;
  const scale = Math.min(w / (drawn.width + 20), h / (drawn.height + 40), 1.6);
  view = { scale, x: (w - drawn.width * scale) / 2, y: Math.max(8, (h - drawn.height * scale) / 2) };
  transform();
}

function zoom(factor, x = picture.clientWidth / 2, y = picture.clientHeight / 2) {
  const scale = Math.min(6, Math.max(0.02, view.scale * factor)), k = scale / view.scale;
  view = { scale, x: x - (x - view.x) * k, y: y - (y - view.y) * k };
  transform();
}

// Bring a node into sight, with as little movement as that needs; zoom in if it could not be read.
function reveal(id) {
  const n = drawn.nodes.get(id);
  if (!n) return;
  if (view.scale < 0.55) zoom(0.85 / view.scale);
  const w = picture.clientWidth, h = picture.clientHeight, margin = 60;
  const x = n.x * view.scale + view.x, y = n.y * view.scale + view.y;
  const halfW = (n.width / 2) * view.scale + margin, halfH = (n.height / 2) * view.scale + margin;
  view.x += x < halfW ? halfW - x : x > w - halfW ? w - halfW - x : 0;
  view.y += y < halfH ? halfH - y : y > h - halfH ? h - halfH - y : 0;
  transform();
}

picture.addEventListener("wheel", (event) => {
  event.preventDefault();
  const box = picture.getBoundingClientRect();
  zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - box.left, event.clientY - box.top);
}, { passive: false });

picture.addEventListener("pointerdown", (event) => {
  moved = false;
  const start = { x: event.clientX - view.x, y: event.clientY - view.y, px: event.clientX, py: event.clientY };
  const move = (e) => {
    if (!moved && Math.hypot(e.clientX - start.px, e.clientY - start.py) < 4) return;
    moved = true;
    picture.classList.add("dragging");
    view.x = e.clientX - start.x;
    view.y = e.clientY - start.y;
    transform();
  };
  const up = () => {
    picture.classList.remove("dragging");
    window.removeEventListener("pointermove", move);
    window.removeEventListener("pointerup", up);
    setTimeout(() => { moved = false; }, 0);
  };
  window.addEventListener("pointermove", move);
  window.addEventListener("pointerup", up);
});
