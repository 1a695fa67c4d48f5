"use strict";
// The date of the run, which is that of the page's file; folds open for a link and for print; a menu closes; a table
// that goes on beyond the edge is marked.
for (const place of document.querySelectorAll("[data-written]")) {
  const date = new Date(document.lastModified);
  const two = (number) => String(number).padStart(2, "0");
  place.textContent = `Run of ${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}.`;
}
for (const event of ["hashchange", "DOMContentLoaded"]) {
  addEventListener(event, () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let it = target && target.closest("details"); it; it = it.parentElement.closest("details")) it.open = true;
    if (target) target.scrollIntoView();
  });
}
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("main details")) folded.open = true;
});
addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll(".menus details")) if (!menu.contains(event.target)) menu.open = false;
});
const mark = (box) => box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
const boxes = new ResizeObserver((entries) => entries.forEach((entry) => mark(entry.target.closest(".scroll"))));
function watch(box) {
  boxes.observe(box);
  boxes.observe(box.firstElementChild);
  box.addEventListener("scroll", () => mark(box), { passive: true });
}
document.querySelectorAll(".scroll").forEach(watch);
