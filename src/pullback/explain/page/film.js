// The course of a run: loss, gradient, updates and each layer's gradient over all passes, above the pass that is shown.

let frame = 0; // the pass that the slider is at, by its place in the list

function buildFilm() {
  if (!film) return;
  $("film").hidden = false;
  const n = film.passes.length;
  frame = Math.max(0, film.passes.indexOf(explanation.pass));
  $("film-slider").max = n - 1;
  const plots = [["loss", film.loss], ["gradient norm", film.norm], ["update / parameters", film.update]].filter(([, v]) => v.some((x) => x !== null));
  for (const [title, values] of plots) $("film-plots").append(make("figure", {}, linePlot(values, title), make("figcaption", {}, captionOf(title, values))));
  if (film.layers.length) $("film-plots").append(make("figure", {}, heatMap(), make("figcaption", {}, `gradient norm of ${film.layers.length} layers, from the first above to the last below; brighter is larger`)));
  for (const [number, why] of film.kept) {
    const b = make("button", { onclick: () => showPass(number) }, `${number}: ${why}`);
    if (number === explanation.pass) b.setAttribute("aria-pressed", "true");
    $("film-kept").append(b);
  }
  $("film-slider").addEventListener("input", (event) => moveTo(+event.target.value));
  $("film-slider").addEventListener("change", () => { if (isKept(film.passes[frame])) showPass(film.passes[frame]); });
  moveTo(frame);
}

const isKept = (number) => film.kept.some(([k]) => k === number);

// Another pass has another graph: the page begins anew with it.
function showPass(number) {
  if (number === explanation.pass) return;
  location.hash = "pass=" + number;
  location.reload();
}

function captionOf(title, values) {
  const found = values.filter((x) => typeof x === "number");
  return found.length ? `${title}: ${numberText(Math.min(...found))} to ${numberText(Math.max(...found))}${isLog(found) ? ", logarithmic" : ""}` : title;
}

const isLog = (found) => found.every((x) => x > 0) && Math.max(...found) > 20 * Math.min(...found);

function linePlot(values, title) {
  const n = values.length, found = values.filter((x) => typeof x === "number"), log = isLog(found);
  const scale = (x) => (log ? Math.log10(x) : x), low = Math.min(...found.map(scale)), high = Math.max(...found.map(scale));
  const svg = element("svg", { viewBox: `0 0 ${Math.max(n - 1, 1)} 1`, preserveAspectRatio: "none", role: "img", "aria-label": captionOf(title, values) });
  let d = "", pen = "M";
  values.forEach((x, i) => {
    if (typeof x !== "number") { pen = "M"; return; }
    d += `${pen}${i} ${(0.95 - 0.9 * (high > low ? (scale(x) - low) / (high - low) : 0.5)).toFixed(4)}`;
    pen = "L";
  });
  film.finite.forEach((fine, i) => { if (!fine) element("rect", { class: "broken", x: i - 0.5, y: 0, width: 1, height: 0.08 }, svg); });
  element("path", { class: "line", d }, svg);
  hand(svg, n);
  return svg;
}

function heatMap() {
  const n = film.passes.length, rows = film.heat.length;
  const svg = element("svg", { viewBox: `0 0 ${n} ${rows}`, preserveAspectRatio: "none", role: "img", "aria-label": "gradient norm by layer and pass", "shape-rendering": "crispEdges" });
  const found = film.heat.flat().filter((x) => typeof x === "number" && x > 0).map(Math.log10), low = Math.min(...found), high = Math.max(...found);
  film.heat.forEach((row, y) => row.forEach((x, i) => {
    if (x === null) return;
    const share = typeof x !== "number" ? null : x <= 0 ? 0 : high > low ? 10 + (90 * (Math.log10(x) - low)) / (high - low) : 60;
    const box = element("rect", { x: i, y, width: 1, height: 1 }, svg);
    box.style.fill = share === null ? "var(--error)" : `color-mix(in srgb, var(--gradient) ${share.toFixed(0)}%, var(--back))`;
    element("title", {}, box, `${film.layers[y]}, pass ${film.passes[i]}: ${numberText(x)}`);
  }));
  hand(svg, n, 0.5);
  return svg;
}

// The line that shows where the slider is; a click moves it.
function hand(svg, n, offset = 0) {
  const box = svg.viewBox.baseVal;
  const line = element("line", { class: "here", y1: 0, y2: box.height }, svg);
  line.dataset.offset = offset;
  svg.addEventListener("click", (event) => {
    const r = svg.getBoundingClientRect(), at = Math.round(((event.clientX - r.left) / r.width) * box.width - offset);
    moveTo(Math.max(0, Math.min(n - 1, at)));
    if (isKept(film.passes[frame])) showPass(film.passes[frame]);
  });
}

function moveTo(i) {
  frame = i;
  $("film-slider").value = i;
  document.querySelectorAll("#film .here").forEach((line) => {
    for (const key of ["x1", "x2"]) line.setAttribute(key, i + Number(line.dataset.offset));
  });
  const number = film.passes[i], words = [`pass ${number}`];
  if (film.loss[i] !== null) words.push(`loss ${numberText(film.loss[i])}`);
  words.push(`gradient ${numberText(film.norm[i])}`);
  if (film.update[i] !== null) words.push(`update / parameters ${numberText(film.update[i])}`);
  if (!isKept(number)) words.push(`not kept whole: ask for it with --step ${number}`);
  $("film-now").textContent = words.join(" · ");
}
