// A long list, a few rows at a time.

import { button, h, replace, setHidden, setText } from "../../dom.js";
import { count } from "../../wording.js";

/** `rowOf(entry)` makes a row's element. `name`: of the list, for screen readers. */
export function pager(name, size, rowOf) {
  const list = h("ul", { class: "cast-rows", "aria-label": name });
  const place = h("span", { class: "hint" });
  const previous = button("Previous", () => turn(-size), { kind: "quiet", "aria-label": `Previous ${name.toLowerCase()}` });
  const next = button("Next", () => turn(size), { kind: "quiet", "aria-label": `Next ${name.toLowerCase()}` });
  const foot = h("div", { class: "row" }, previous, place, next);
  let entries = [];
  let first = 0;

  function turn(by) {
    first += by;
    draw();
    list.scrollIntoView({ block: "start" });
  }

  function draw() {
    first = Math.max(0, Math.min(first, Math.floor((entries.length - 1) / size) * size));
    const shown = entries.slice(first, first + size);
    replace(list, shown.map(rowOf));
    setText(place, `${count(first + 1)} to ${count(first + shown.length)} of ${count(entries.length)}`);
    previous.disabled = first === 0;
    next.disabled = first + size >= entries.length;
    setHidden(foot, entries.length <= size);
  }

  return {
    element: h("div", { class: "stack" }, list, foot),
    show(all, isFromStart = false) {
      entries = all;
      if (isFromStart) first = 0;
      draw();
    },
  };
}
