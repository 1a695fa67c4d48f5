"use strict";
// Texts of the items reach the page through textContent only: what a model wrote is never read as markup.
(() => {
  const find = (id) => document.getElementById(id);
  const { tasks, items } = JSON.parse(find("data").textContent);
  const page = document.body.dataset.page;
  const place = "nightjar-judge:" + page;
  const verdicts = [...document.querySelectorAll("[data-answer]")];
  const sides = verdicts.map((button) => button.dataset.answer);
  const answers = new Map();
  let at = 0;
  let kept = true; // whether the browser keeps the progress
  let unsaved = false; // whether an answer is in no file yet

  // A browser may refuse its storage to a page from the disk; then the answers live until the page is closed.
  function load() {
    try {
      const state = JSON.parse(localStorage.getItem(place) || "{}");
      for (const { item } of items) {
        const answer = (state.answers || {})[item];
        if (sides.includes(answer)) answers.set(item, answer);
      }
      if (Number.isInteger(state.at) && state.at >= 0 && state.at < items.length) at = state.at;
      if (typeof state.judge === "string") find("judge").value = state.judge;
      unsaved = state.unsaved === true;
    } catch {
      // refused, or not what we wrote: begin anew; whether it keeps anything is seen next
    }
    keep();
  }

  function keep() {
    const state = { answers: Object.fromEntries(answers), at, judge: find("judge").value, unsaved };
    try {
      localStorage.setItem(place, JSON.stringify(state));
      kept = true;
    } catch {
      kept = false;
    }
  }

  // Control characters have no shape: their pictures show that they are there.
  function visible(text) {
    return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, (sign) =>
      sign === "\r" ? "" : sign === "\u007f" ? "\u2421" : String.fromCharCode(0x2400 + sign.charCodeAt(0)));
  }

  function write(element, text) {
    const blank = text.trim() === "";
    element.textContent = blank ? "(nothing)" : visible(text);
    element.classList.toggle("empty", blank);
  }

  function made(kind, text, className) {
    const element = document.createElement(kind);
    if (text !== undefined) write(element, text);
    if (className) element.className += " " + className;
    return element;
  }

  function example(title, { input, output, explanation }) {
    const box = made("div", undefined, "example");
    const list = made("dl");
    const rows = [["Input", input], ["Output", output]];
    if (explanation) rows.push(["Explanation", explanation]);
    for (const [name, text] of rows) list.append(made("dt", name), made("dd", text, "text"));
    box.append(made("h3", title), list);
    return box;
  }

  function showTask(task) {
    write(find("definition"), task.definition);
    const examples = [
      ...task.positive.map((one, number) => example("Good example " + (number + 1), one)),
      ...task.negative.map((one, number) => example("Bad example " + (number + 1), one)),
    ];
    find("examples").hidden = examples.length === 0;
    find("examples-title").textContent = examples.length === 1 ? "1 example" : examples.length + " examples";
    find("examples-list").replaceChildren(...examples);
  }

  let shownTask = null;
  function show() {
    const item = items[at];
    if (item.task !== shownTask) {
      showTask(tasks[item.task]);
      find("examples").open = false;
      shownTask = item.task;
    }
    for (const name of ["input", "left", "right"]) write(find(name), item[name]);
    const answer = answers.get(item.item);
    for (const button of verdicts) button.setAttribute("aria-pressed", String(button.dataset.answer === answer));
    for (const side of ["left", "right"]) find("box-" + side).classList.toggle("chosen", answer === side);
    find("place").textContent = at + 1 + " of " + items.length;
    find("back").disabled = at === 0;
    find("forth").disabled = at === items.length - 1;
    find("progress").max = items.length;
    find("progress").value = answers.size;
    find("count").textContent = answers.size + " judged";
    const done = answers.size === items.length;
    find("save").classList.toggle("ready", done && unsaved);
    let notice = "";
    if (done && unsaved) notice = "All items are judged. Save your answers and send the file to whoever asked you.";
    else if (done) notice = "All items are judged and saved to a file. Thank you.";
    else if (!kept) notice = "This browser does not keep your progress: save your answers before you close the page.";
    if (find("notice").textContent !== notice) find("notice").textContent = notice;
    find("notice").hidden = notice === "";
  }

  function go(to) {
    if (to < 0 || to >= items.length || to === at) return;
    at = to;
    keep();
    show();
    window.scrollTo(0, 0);
  }

  // After a verdict: the next item, or, at the end, the first that is still open.
  function judge(answer) {
    answers.set(items[at].item, answer);
    unsaved = true;
    keep();
    show();
    const open = items.findIndex(({ item }) => !answers.has(item));
    if (at + 1 < items.length) go(at + 1);
    else if (open >= 0) go(open);
  }

  function save() {
    const given = items.filter(({ item }) => answers.has(item));
    const file = {
      format: document.body.dataset.format,
      page,
      judge: find("judge").value.trim(),
      items: items.length,
      answers: given.map(({ item }) => ({ item, answer: answers.get(item) })),
    };
    const url = URL.createObjectURL(new Blob([JSON.stringify(file, null, 1) + "\n"], { type: "application/json" }));
    const link = document.createElement("a");
    const name = file.judge.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "");
    link.href = url;
    link.download = "answers-" + (name || page.slice(0, 8)) + ".json";
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
    unsaved = false;
    keep();
    show();
  }

  for (const button of verdicts) button.addEventListener("click", () => judge(button.dataset.answer));
  find("back").addEventListener("click", () => go(at - 1));
  find("forth").addEventListener("click", () => go(at + 1));
  find("save").addEventListener("click", save);
  find("judge").addEventListener("input", () => {
    unsaved = answers.size > 0;
    keep();
    show();
  });
  document.addEventListener("keydown", (event) => {
    // A key that is held down would judge many items; one with a modifier belongs to the browser.
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target === find("judge")) {
      if (event.key === "Enter" || event.key === "Escape") event.target.blur(); // then 1, 2, 3 are verdicts again
      return;
    }
    const chosen = ["1", "2", "3"].indexOf(event.key);
    if (chosen >= 0) judge(sides[chosen]);
    else if (event.key === "ArrowLeft") go(at - 1);
    else if (event.key === "ArrowRight") go(at + 1);
    else return;
    event.preventDefault();
  });
  window.addEventListener("beforeunload", (event) => {
    if (!kept && unsaved) event.preventDefault();
  });

  load();
  show();
  find("main").hidden = false;
  find("verdict").hidden = false;
})();
