"use strict";
// The explorer of a benchmark's instances. window.nightjar has a row an instance; the texts of an instance are in
// scripts of their own, which are loaded when one of them is opened. Texts become nodes, never markup.
const data = window.nightjar;
if (!data) {
  const line = "The folder instances is missing beside this page. Copy the whole folder of the report.";
  document.querySelector("main").prepend(Object.assign(document.createElement("p"), { textContent: line }));
  throw new Error(line);
}
const { systems, tasks, rows } = data;
const [TASK, ID, TEXT, REFERENCES, VERDICTS, SCORES, CALLS, ANSWERS] = Array(8).keys();
const VERDICT = { 1: ["✓", "right"], 0: ["✗", "wrong"], "-": ["", ""], x: ["∅", "no prediction"] };
const MATCH = { has: ["✓", "has the cluster"], repeats: ["=", "another answer has the cluster"], none: ["✗", "no cluster"] };
const WIDE = matchMedia("(min-width: 1000px)");
const find = (id) => document.getElementById(id);
const [form, detail, count] = ["filters", "detail", "count"].map(find);
let opened = -1; // the place in `rows` of the instance that is shown; -1: none
let focused = 0; // the place of the row with the focus
let waiting = -1; // the place of a row that gets the focus once it is drawn
let unfolded = false; // whether prompts are shown
let similarity = 0; // the place of the one by which answers are matched to clusters

function node(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(name, value);
  made.append(...children.flat().filter((child) => child !== null && child !== ""));
  return made;
}
// The name of a system, with the mark of its role and what it is.
function label(at) {
  const [role, glyph, what] = data.named[at];
  return node("abbr", { class: role, title: what }, node("i", { "aria-hidden": "true" }, glyph), systems[at]);
}
const text = (words, tag = "div") => node(tag, { class: "text", dir: "auto" }, words);
const sign = (of) => node("b", { class: `sign ${of[1].split(" ")[0]}`, role: "img", "aria-label": of[1], title: of[1] }, of[0]);

// The state of the page is its fragment: the filters, or the instance that is open. Back closes an instance that was
// opened from the list, so opening adds an entry to the history; filters and steps to other instances change the entry.
const link = (at) => `#${new URLSearchParams({ task: tasks[rows[at][TASK]][0], id: rows[at][ID] })}`;
const state = () => Object.fromEntries([...new FormData(form)].filter(([, value]) => value));
function remember(fromList = false) {
  const fragment = opened < 0 ? `#${new URLSearchParams(state())}` : link(opened);
  if (fragment === location.hash) return;
  if (fromList) history.pushState({ fromList }, "", fragment);
  else history.replaceState(opened < 0 ? null : history.state, "", fragment);
}

function filter() {
  const { q = "", task, system, is, other } = state();
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const place = tasks.findIndex(([name]) => name === task);
  const some = system ? [systems.indexOf(system)] : [...systems.keys()];
  const rival = systems.indexOf(other);
  const has = {
    right: (row, at) => row[VERDICTS][at] === "1", wrong: (row, at) => row[VERDICTS][at] === "0",
    missing: (row, at) => row[VERDICTS][at] === "x", call: (row, at) => row[CALLS][at] > 0,
  }[is];
  const scored = (row, at) => (row[VERDICTS][at] === "-" ? row[SCORES][at] : row[VERDICTS][at]);
  return (row) => {
    if (place >= 0 && row[TASK] !== place) return false;
    if (has && !some.some((at) => has(row, at))) return false;
    if (rival >= 0 && !some.some((at) => scored(row, at) !== scored(row, rival))) return false;
    if (!words.length) return true;
    row.words ??= [row[ID], row[TEXT], row[REFERENCES], ...row[ANSWERS]].join(" ").toLowerCase();
    return words.every((word) => row.words.includes(word));
  };
}

const plural = (number, thing) => `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;
function answerCell(row, at) {
  const [kind, score, calls, words] = [VERDICTS, SCORES, CALLS, ANSWERS].map((place) => row[place][at]);
  return node("div", { class: "cell", title: words },
    VERDICT[kind][0] ? sign(VERDICT[kind]) : null,
    kind === "-" && score !== "" ? node("b", { class: "score" }, score) : null,
    calls ? node("span", { class: "tool", title: plural(calls, "call"), role: "img", "aria-label": "has a call" }, "ƒ") : null,
    node("bdi", {}, words));
}
// All systems in one cell, for a list that is too narrow for a column each.
function marksCell(row) {
  const said = systems.map((name, at) => `${name} ${VERDICT[row[VERDICTS][at]][1] || row[SCORES][at]}`);
  const highest = [...row[SCORES]].sort((a, b) => b - a)[0];
  return node("div", { class: "cell", role: "img", "aria-label": said.join(", ") },
    data.judged ? systems.map((_, at) => sign(VERDICT[row[VERDICTS][at]])) : highest);
}
const rank = (row, at) => (row[VERDICTS][at] === "x" ? -1 : Number(row[SCORES][at] || -0.5));
const marks = (row) => (data.judged
  ? [...row[VERDICTS]].filter((it) => it === "1").length : Math.max(...systems.map((_, at) => rank(row, at))));
const title = (row) => tasks[row[TASK]][1];
const questionCell = (row, at) => node("a", { class: "cell", href: link(at), dir: "auto", "aria-label": `${at + 1}, ${row[TEXT]}` },
  row[TEXT] || "(empty)");
// What a cell shows, and what its column is sorted by.
const display = (make, order) => (row, type, _, meta) => (type === "display" ? make(row, meta.row) : order(row, meta.row));
const LARGEST = ["desc", "asc", ""];
const signs = data.judged ? Math.max(4, Math.min(10, systems.length)) : 4;
const columns = [
  { title: "#", className: "num", type: "num", width: "3.4em", render: display((_, at) => String(at + 1), (_, at) => at) },
  { title: "task", className: "task", type: "string", width: "11em",
    render: display((row) => node("div", { class: "cell" }, title(row)), title) },
  { title: "question", className: "question", type: "string", render: display(questionCell, (row) => row[TEXT]) },
  { title: data.judged ? "systems" : "highest", className: "marks", type: "num", width: `${signs * 1.05 + 1.4}em`,
    orderSequence: LARGEST, render: display(marksCell, marks) },
  ...systems.map((_, at) => ({
    title: label(at).outerHTML, className: "system", type: "num", width: `${56 / systems.length}%`, orderSequence: LARGEST,
    render: display((row) => answerCell(row, at), (row) => rank(row, at)),
  })),
];

find("explorer").hidden = form.hidden = false;
// The list fills the window down to the line below it. 32: its head.
const room = () => Math.max(320, innerHeight - find("list").getBoundingClientRect().top - scrollY - find("hint").offsetHeight - 56);
for (const [at, [name, title]] of tasks.entries()) form.task.add(new Option(title, name, false, false));
for (const name of systems) for (const field of [form.system, form.other]) field.add(new Option(name));
count.textContent = `${rows.length} instances`; // it takes room, which the list does not get
form.task.closest("label").hidden = tasks.length < 2;
form.other.closest("label").hidden = systems.length < 2;
if (!data.judged) for (const option of [...form.is.options]) if (["right", "wrong"].includes(option.value)) option.remove();

const side = () => opened >= 0 || !WIDE.matches;
const shown = (name) => ({ marks: side(), system: !side(), task: !side() && tasks.length > 1 })[name] ?? true;
const table = new DataTable("#instances", {
  data: rows, columns: columns.map((column) => ({ data: null, searchable: false, visible: shown(column.className), ...column })),
  autoWidth: false, deferRender: true, info: false, order: [], scrollY: room(), scroller: { displayBuffer: 4 },
  layout: { topStart: null, topEnd: null, bottomStart: null, bottomEnd: null },
  language: { emptyTable: "No instance.", zeroRecords: "No instance. Reset the filters." },
  rowCallback: (line, _, __, position, at) => {
    line.classList.toggle("opened", at === opened);
    line.setAttribute("aria-rowindex", position + 2);
  },
  drawCallback: () => waiting >= 0 && focus(waiting),
});
const order = () => table.rows({ search: "applied", order: "applied" }).indexes().toArray();

function arrange() {
  document.body.classList.toggle("opened", opened >= 0);
  for (const name of ["marks", "system", "task"]) table.columns(`.${name}`).visible(shown(name), false);
  table.columns.adjust();
}

function draw() {
  const keep = filter();
  table.search.fixed("filters", (_, row) => keep(row)).draw();
  const shown = table.rows({ search: "applied" }).count();
  count.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} instances`;
  find("instances").setAttribute("aria-rowcount", shown + 1);
}

function focus(at) {
  const line = table.row(at).node();
  waiting = line && line.isConnected ? -1 : at;
  focused = at;
  if (waiting >= 0) table.row(at).scrollTo(false);
  else if (!(opened >= 0 && !WIDE.matches)) line.querySelector("a").focus();
}

function move(step) {
  const places = order();
  const from = places.indexOf(opened >= 0 ? opened : focused);
  const active = document.activeElement.closest?.("#instances");
  const to = from < 0 || (!active && opened < 0) ? Math.max(0, from) : Math.min(places.length - 1, Math.max(0, from + step));
  if (!places.length) return;
  focus(places[to]);
  if (opened >= 0) open(places[to]);
}

function hide() {
  const at = opened;
  opened = -1;
  detail.hidden = true;
  find("list").querySelector("tr.opened")?.classList.remove("opened");
  arrange();
  focus(at);
}

let leaving = false; // whether the history goes back to the entry of the list, which is shown already
function close() {
  if (opened < 0) return;
  leaving = Boolean(history.state?.fromList);
  hide();
  if (leaving) history.back();
  else remember();
}

const loaded = [];
const load = (place) => (loaded[place] ??= new Promise((done, failed) => {
  const script = node("script", { src: `instances/${data.benchmark}/${place}.js` });
  script.onload = done;
  script.onerror = () => failed(new Error(`instances/${data.benchmark}/${place}.js is missing beside this page`));
  document.head.append(script);
}));

async function open(at, take = false) {
  const first = opened < 0;
  opened = focused = at;
  remember(first);
  const place = Math.floor(at / data.chunk);
  try {
    await load(place);
    if (opened !== at) return; // another one was opened meanwhile
    show(at, data.texts[place][at % data.chunk]);
  } catch (error) {
    detail.replaceChildren(node("p", { role: "alert" }, error.message));
  }
  detail.hidden = false;
  detail.scrollTop = 0;
  if (first) arrange();
  for (const line of find("list").querySelectorAll("tbody tr")) line.classList.toggle("opened", table.row(line).index() === at);
  if (take || !WIDE.matches) detail.focus({ preventScroll: WIDE.matches });
}

const whose = (places) => (places.length === systems.length && places.length > 1 ? "all systems" : places.map((at) => systems[at]).join(", "));

function card(answer, at, it) {
  const verdict = VERDICT[answer.verdict];
  const facts = answer.scores.map(([title, value]) => `${title} ${value}`);
  if (answer.tokens[1]) facts.push(plural(answer.tokens[1], "token"));
  const calls = answer.calls.map(([tool, input, result]) => node("li", {},
    node("span", { class: "call", dir: "auto" }, `${tool}(${input})`), " → ",
    result === null ? node("i", {}, "no result") : node("bdi", {}, result || "(empty)")));
  return node("article", { class: `card ${verdict[1].split(" ")[0]}` },
    node("h4", {}, verdict[0] ? sign(verdict) : null, label(at)),
    node("p", { class: "note" }, facts.join(" · ")),
    answer.verdict === "x" ? node("p", {}, "No prediction.") : it.clusters ? ranked(answer, at, it) : text(answer.answers[0] || "(empty)"),
    answer.more ? node("p", { class: "note" }, `and ${answer.more} more`) : null,
    calls.length ? node("ul", { class: "calls", "aria-label": "Calls" }, calls) : null);
}

function ranked(answer, at, it) {
  const matches = it.matches[at][similarity] || [];
  const last = similarity === 0 ? it.counted[at] : 0;
  const items = answer.answers.map((words, rank) => {
    const [kind, cluster] = matches[rank] || ["none", 0];
    return node("li", { class: rank + 1 === last && rank + 1 < answer.answers.length ? "last" : null }, sign(MATCH[kind]),
      node("bdi", {}, words.trim() || "(blank)"), cluster ? node("small", {}, ` ${cluster}`) : null);
  });
  return items.length ? node("ol", { class: "ranked" }, items) : node("p", {}, "An empty list.");
}

function clusters(it, again) {
  const most = Math.max(1, ...it.clusters.map((one) => one.count));
  const head = ["", "people", "their answers", ...systems].map((title, at) => node("th", { scope: "col", class: at > 2 ? "num" : null }, title));
  const rank = (at, cluster) => (it.matches[at][similarity] || []).findIndex(([kind, place]) => kind === "has" && place === cluster) + 1;
  const lines = it.clusters.map((one, at) => node("tr", {}, node("td", { class: "num" }, String(at + 1)),
    node("td", { class: "bar" }, node("i", { style: `--share:${one.count / most}` }), String(one.count)),
    node("td", { class: "words" }, node("bdi", {}, one.strings.join(" | ")), one.more ? ` and ${one.more} more` : null),
    systems.map((_, system) => node("td", { class: "num" }, String(rank(system, at + 1) || "–")))));
  const choice = node("select", { "aria-label": "Similarity" }, data.similarities.map((name) => node("option", {}, name)));
  choice.selectedIndex = similarity;
  choice.addEventListener("change", () => { similarity = choice.selectedIndex; again(); detail.querySelector("select").focus(); });
  const scroll = node("div", { class: "scroll" },
    node("table", { class: "clusters" }, node("thead", {}, node("tr", {}, head)), node("tbody", {}, lines)));
  watch(scroll); // of page.js
  return [node("h3", {}, `${it.people} answers of people`),
    it.labels.length ? node("p", { class: "note" }, `Labels: ${it.labels.join(", ")}`) : null,
    node("p", { class: "note" }, "Under a system: the rank of its answer that has the cluster",
      ...(data.similarities.length ? [", by the similarity ", choice] : [])),
    scroll,
    it.smaller ? node("p", { class: "note" }, `and ${it.smaller} smaller clusters`) : null,
    node("p", { class: "note" }, "Below, ✓ has the cluster of that number, = is similar to a cluster that another answer has, "
      + "✗ is similar to none. A line ends what the main metric counts.")];
}

function show(at, it) {
  const [task, id] = [tasks[rows[at][TASK]], rows[at][ID]];
  const places = order(), position = places.indexOf(at);
  const step = (name, label, by) => {
    const made = node("button", { type: "button", "aria-label": label, title: label }, name);
    made.disabled = !(position + by in places);
    made.addEventListener("click", () => move(by));
    return made;
  };
  const leave = node("button", { type: "button", "aria-label": "Close", title: "Close (Esc)" }, "✕");
  leave.addEventListener("click", close);
  const prompts = it.prompts.map(([prompt, places]) => {
    const made = node("details", {}, node("summary", {}, `Prompt of ${whose(places)}`), node("pre", { dir: "auto" }, prompt));
    made.open = unfolded;
    made.addEventListener("toggle", () => { unfolded = made.open; });
    return made;
  });
  const passages = it.passages.flatMap(([some, places]) => [node("h3", {}, `Passages retrieved for ${whose(places)}`),
    node("ol", { class: "passages" }, some.map((words) => text(words, "li")))]);
  const references = it.references.map((words) => text(words, "li"));
  detail.replaceChildren(...[
    node("div", { class: "steps" }, step("↑", "Previous (k)", -1), step("↓", "Next (j)", 1),
      node("span", { class: "note" }, position < 0 ? "not in the list" : `${(position + 1).toLocaleString("en")} of ${places.length.toLocaleString("en")}`),
      node("a", { href: link(at) }, "Link"), leave),
    node("h2", {}, task[1], node("small", { class: "hash" }, id)),
    node("h3", {}, "Question"), text(it.input || "(empty)"),
    ...(it.clusters ? clusters(it, () => show(at, it)) : [node("h3", {}, "References"),
      references.length ? node("ul", { class: "references" }, references) : node("p", {}, "None."),
      it.more ? node("p", { class: "note" }, `and ${it.more} more`) : ""]),
    node("h3", {}, "Answers"), node("div", { class: "cards" }, it.systems.map((answer, place) => card(answer, place, it))),
    ...passages, ...prompts].filter(Boolean));
}

form.addEventListener("input", () => { draw(); remember(); });
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const places = order();
  if (places.length) focus(places[0]);
});
form.addEventListener("reset", () => setTimeout(() => { draw(); remember(); }));
find("list").addEventListener("click", (event) => {
  const line = event.target.closest("tbody tr");
  if (!line || event.ctrlKey || event.metaKey || table.row(line).index() === undefined) return;
  event.preventDefault();
  open(table.row(line).index(), event.detail === 0);
});
find("list").addEventListener("focusin", (event) => {
  const line = event.target.closest("tbody tr");
  if (line && table.row(line).index() !== undefined) focused = table.row(line).index();
});
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest?.("input, select, textarea");
  if (event.key === "Escape") {
    if (!typing) return close();
    event.preventDefault(); // the browser would clear the box and tell nobody
    if (event.target === form.q && form.q.value) {
      form.q.value = "";
      draw();
      remember();
    }
    return event.target.blur();
  }
  if (typing) return;
  const inside = event.target.closest?.("#detail");
  const step = { j: 1, k: -1, ...(inside ? {} : { ArrowDown: 1, ArrowUp: -1 }) }[event.key];
  if (step) move(step);
  else if (event.key === "/") form.q.select();
  else return;
  event.preventDefault();
});
function measure() {
  document.documentElement.style.setProperty("--room", `${room()}px`);
  find("list").querySelector(".dt-scroll-body").style.maxHeight = `${room()}px`;
  table.scroller.measure();
}
addEventListener("resize", measure);
WIDE.addEventListener("change", arrange);

function arrive() {
  if (leaving) {
    leaving = false;
    return remember(opened >= 0);
  }
  const wanted = new URLSearchParams(location.hash.slice(1));
  const id = wanted.get("id");
  const at = id === null ? -1 : rows.findIndex((row) => row[ID] === id && [null, tasks[row[TASK]][0]].includes(wanted.get("task")));
  if (id === null) for (const field of ["q", "task", "system", "is", "other"]) form[field].value = wanted.get(field) || "";
  if (id === null && opened >= 0) hide();
  draw();
  if (at >= 0) open(at).then(() => table.row(at).scrollTo(false));
  else if (id !== null) count.textContent = `No instance ${id}.`;
}
addEventListener("hashchange", arrive);
measure();
arrive();
