"use strict";
// Draws the plots of the page from the specifications beside their images, which remain for print (stages/report/plots).
const colour = (row) => `var(--${row.colour})`;
const tip = { fill: "var(--paper)", stroke: "var(--line)", fontSize: 12, textPadding: 7 };
const marks = {
  rect: (rows) => Plot.rect(rows, { x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill: colour, title: "title", tip,
    stroke: (row) => (row.edge ? `var(--${row.edge})` : "none"), rx: 1.5 }),
  link: (rows) => Plot.link(rows, { x1: "x1", x2: "x2", y1: "y1", y2: "y2", stroke: colour, strokeLinecap: "butt",
    strokeWidth: (row) => row.width || 2, strokeDasharray: rows.some((row) => row.dashed) ? "4 3" : null }),
  line: (rows) => rows.map((row) => Plot.line(row.x.map((x, at) => [x, row.y[at]]), { stroke: colour(row), strokeWidth: 1.8 })),
  dot: (rows) => Plot.dot(rows, { x: "x", y: "y", fill: colour, symbol: "symbol", r: 4.5, title: "title", tip,
    stroke: "var(--paper)", strokeWidth: 0.8 }),
  text: (rows) => rows.map((row) => Plot.text([row], { x: "x", y: "y", text: "text", fill: colour(row), fontSize: 12,
    fontWeight: row.bold ? 600 : 400, textAnchor: "middle" })),
};
const scale = (axis, wide) => ({
  domain: [axis.low, axis.high], label: null, ticks: axis.labels.length ? axis.labels.map((it) => it[0]) : wide > 300 ? 6 : 4,
  tickFormat: axis.labels.length ? (value) => (axis.labels.find((it) => it[0] === value) || ["", ""])[1] : undefined,
  grid: !axis.labels.length && !axis.hidden, axis: axis.hidden ? null : undefined, tickSize: 0,
});
const cut = (axis, most) => ({ ...axis, labels: axis.labels.map(([at, text]) =>
  [at, text.length > most ? `${text.slice(0, most - 1)}…` : text]) });
const draw = (box, panel, wide) => {
  const y = cut(panel.y, wide < 420 ? 20 : 44);
  const left = y.hidden ? 4 : y.labels.length ? 12 + 6.6 * Math.max(...y.labels.map((it) => it[1].length)) : 46;
  const head = document.createElement("p");
  const name = document.createElement("b");
  name.textContent = panel.title;
  const note = document.createElement("small");
  note.textContent = panel.note.replace("n = ", "n\u00a0=\u00a0");
  if (panel.note) note.className = "note";
  head.append(name, note);
  const bottom = panel.x.hidden ? 4 : panel.x.title ? 40 : 24;
  const top = panel.y.title ? 24 : 8;
  const labels = [];
  if (panel.x.title) labels.push(Plot.text([panel.x.title], { frameAnchor: "bottom", dy: 32, fill: "var(--muted)" }));
  if (panel.y.title) labels.push(Plot.text([panel.y.title], { frameAnchor: "top-left", dy: -18, textAnchor: "start", fill: "var(--muted)" }));
  box.replaceChildren(head, Plot.plot({
    width: wide, height: panel.height + top + bottom, marginLeft: left, marginRight: 18, marginTop: top, marginBottom: bottom,
    ariaLabel: panel.title, color: { type: "identity" }, symbol: { type: "identity" },
    style: { background: "none", fontSize: "12px", overflow: "visible", "--plot-background": "var(--paper)" },
    x: scale(panel.x, wide - left), y: scale(y, panel.height),
    marks: [...panel.marks.flatMap((it) => marks[it.kind](it.rows)), ...labels],
  }));
};
for (const figure of document.querySelectorAll("figure.plot")) {
  const spec = JSON.parse(figure.querySelector("script").textContent);
  const all = document.createElement("div");
  all.className = "panels";
  all.setAttribute("role", "img");
  all.setAttribute("aria-label", spec.label);
  all.style.setProperty("--least", `${spec.least}px`);
  const boxes = spec.panels.map(() => document.createElement("div"));
  all.append(...boxes);
  figure.prepend(all);
  figure.classList.add("drawn");
  let last = 0;
  new ResizeObserver(() => {
    const wide = boxes[0].clientWidth;
    if (!wide || wide === last) return;
    last = wide;
    spec.panels.forEach((panel, at) => draw(boxes[at], panel, wide));
  }).observe(all);
}
