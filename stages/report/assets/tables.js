
"use strict";
// Tables are sorted by a button in each head: the first click sorts numbers from the largest and texts from A, the
// second the other way, the third restores the order of the page. Empty cells come last.
for (const table of document.querySelectorAll("main table")) {
  if (!table.tHead) continue;
  const head = table.tHead.rows[table.tHead.rows.length - 1];
  const grouped = [...table.querySelectorAll("tbody tr:not(:first-child) [colspan], tbody [rowspan]")].length > 0;
  const bodies = [...table.tBodies].map((body) => ({
    body,
    rows: [...body.rows].filter((row) => row.cells.length === head.cells.length),
  }));
  if (grouped || !bodies.some((one) => one.rows.length > 1)) continue;
  const text = (row, column) => {
    const cell = row.cells[column];
    // Not innerText, which lays the whole page out. What follows a line break is a note.
    const end = [...cell.childNodes].findIndex((node) => node.nodeName === "BR");
    const nodes = [...cell.childNodes].slice(0, end < 0 ? undefined : end);
    const words = cell.dataset.value || nodes.map((node) => node.textContent).join("");
    return words.trim().replace(/^[–-]$/, "");
  };
  const number = (words) => Number(words.replace(/−/g, "-").replace(/[,%]|^[<≥] ?/g, ""));
  const sort = (column, order) => {
    for (const { body, rows } of bodies) {
      const keys = new Map(rows.map((row) => [row, text(row, column)]));
      const numeric = rows.every((row) => !Number.isNaN(number(keys.get(row))));
      const compare = numeric
        ? (a, b) => number(b) - number(a)
        : (a, b) => a.localeCompare(b, undefined, { numeric: true });
      const sign = order === (numeric ? "descending" : "ascending") ? 1 : -1;
      const sorted = order === "none" ? rows : [...rows].sort((one, other) => {
        const [a, b] = [keys.get(one), keys.get(other)];
        return a === "" || b === "" ? (a === "") - (b === "") : sign * compare(a, b);
      });
      body.append(...sorted);
    }
  };
  const numericFirst = (column) =>
    bodies.some(({ rows }) => rows.some((row) => text(row, column) !== "")) &&
    bodies.every(({ rows }) => rows.every((row) => !Number.isNaN(number(text(row, column)))));
  [...head.cells].forEach((cell, column) => {
    if (cell.textContent.trim() === "" || cell.classList.contains("strip")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...cell.childNodes);
    cell.append(button);
    cell.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const turns = numericFirst(column) ? ["descending", "ascending", "none"] : ["ascending", "descending", "none"];
      const order = turns[(turns.indexOf(cell.getAttribute("aria-sort")) + 1) % 3];
      for (const other of head.querySelectorAll("[aria-sort]")) other.setAttribute("aria-sort", "none");
      cell.setAttribute("aria-sort", order);
      sort(column, order);
    });
  });
}
