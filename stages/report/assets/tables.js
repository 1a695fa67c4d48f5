"use strict";
// Tables are sorted by their heads: numbers from the largest first, texts from A; a third press restores the order of
// the page. Empty cells come last.
const shown = (html) => html.split("<br")[0].replace(/<[^>]*>/g, "").trim().replace(/^[–-]$/, "");
const number = (html) => Number(shown(html).replace(/−/g, "-").replace(/[,%]|^[<≥] ?/g, ""));
const emptyLast = (compare) => (a, b) => a === "" || b === "" ? (a === "") - (b === "") : compare(a, b);
const isNumber = (html) => shown(html) !== "" && !Number.isNaN(number(html));
const ordered = (pre, compare) => ({ pre, asc: emptyLast(compare), desc: emptyLast((a, b) => compare(b, a)) });
DataTable.type("shown-text", {
  detect: () => true,
  order: ordered(shown, (a, b) => a.localeCompare(b, undefined, { numeric: true })),
});
DataTable.type("shown-number", {
  detect: { allOf: (html) => shown(html) === "" || isNumber(html), oneOf: isNumber },
  order: ordered((html) => shown(html) && number(html), (a, b) => a - b),
});
for (const table of document.querySelectorAll("main .scroll > table")) {
  const columns = table.tHead ? table.tHead.rows[table.tHead.rows.length - 1].cells.length : 0;
  const rows = [...table.tBodies[0]?.rows ?? []];
  if (rows.length < 2 || rows.some((row) => row.cells.length !== columns)) continue;
  new DataTable(table, {
    autoWidth: false, info: false, layout: { topStart: null, topEnd: null, bottomStart: null, bottomEnd: null },
    order: [], paging: false, searching: false,
    columnDefs: [{ targets: "num", orderSequence: ["desc", "asc", ""] }],
  });
}
