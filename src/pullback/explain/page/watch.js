"use strict";
// Gradient norms, update norms and their ratio to the weights over training, a line a layer, drawn by uPlot.

const data = JSON.parse(document.getElementById("data").textContent);
const layers = data.layers, records = data.records;
const number = (x) => (typeof x === "number" ? x : null); // what is not finite leaves a gap
const colour = (i) => `hsl(${(i * 360) / Math.max(layers.length, 1)} 65% 50%)`;
document.getElementById("title").textContent = `${data.steps} steps, ${records.length} of them recorded`;

const charts = [
  ...(records.some((r) => typeof r.loss === "number") ? [["Loss", (r) => number(r.loss)]] : []),
  ["Gradient norm", (r, l) => number(r.gradients[l])],
  ["Update norm", (r, l) => number(r.updates[l])],
  ["Update norm / parameter norm", (r, l) => (r.values[l] ? number(r.updates[l] / r.values[l]) : null)],
];
let plots = [];

// On a logarithmic scale 0 has no place: it is marked at the bottom, below every other value.
function lines(value, names) {
  const found = names.map((l) => records.map((r) => value(r, l)));
  const positive = found.flat().filter((x) => x > 0);
  const floor = positive.length ? Math.min(...positive) / 10 : 1;
  const linear = found.flat().some((x) => x < 0);
  return { linear, floor, found: linear ? found : found.map((line) => line.map((x) => (x === 0 ? floor : x))), zeros: !linear && found.flat().some((x) => x === 0) };
}

function draw() {
  const host = document.getElementById("plots"), style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("color"), rule = "#8885";
  host.replaceChildren();
  plots = charts.map(([title, value]) => {
    const names = title === "Loss" ? ["loss"] : layers, { linear, floor, found, zeros } = lines(value, names);
    return new uPlot({
    title: zeros ? `${title} (0 is drawn at ${floor.toExponential(0)})` : title, width: Math.max(320, host.clientWidth - 28), height: 270,
    scales: { x: { time: false }, y: { distr: linear ? 1 : 3 } },
    axes: [{ stroke: ink, grid: { stroke: rule }, label: "step" }, { stroke: ink, grid: { stroke: rule }, size: 64, values: (u, v) => v.map((x) => (x === null ? "" : x.toExponential(0))) }],
    series: [{ label: "step" }, ...names.map((l, i) => ({ label: l, stroke: colour(i), width: 1.5, points: { show: records.length < 50 }, value: (u, x) => (x == null ? "" : zeros && x === floor ? "0" : x.toPrecision(4)) }))],
    }, [records.map((r) => r.step), ...found], host);
  });
}

for (const f of data.findings) {
  const li = document.createElement("li");
  li.className = f.severity;
  const more = document.createElement("small");
  more.textContent = "pullback errors " + f.page;
  li.append(f.text, " ", more);
  document.getElementById("findings").append(li);
}
const table = document.createElement("table");
table.innerHTML = "<tr><th scope=col>layer<th scope=col>gradient<th scope=col>update<th scope=col>parameters</tr>";
for (const l of layers) {
  const last = records.findLast((r) => l in r.gradients);
  if (!last) continue;
  const row = table.insertRow();
  for (const text of [l, last.gradients[l], last.updates[l], last.values[l]]) row.insertCell().textContent = typeof text === "number" ? text.toPrecision(4) : text;
}
document.getElementById("table").append(table);
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
window.addEventListener("resize", draw);
draw();
document.documentElement.dataset.ready = "true";
