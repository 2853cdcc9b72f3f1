// The chapters of a narration, with links to text and audio.

import { button, changes, h, replace, setHidden, setText } from "../../dom.js";
import { clock } from "../../wording.js";

/** `onChoose(index)`: the segment that a chapter begins with. `startOf(index)`: its second. */
export function chapterRail(segments, peaks, { startOf, onChoose, signal }) {
  const list = h("ol");
  const element = h("nav", { class: "chapters", "aria-label": "Chapters", hidden: true }, list);
  let rows = [];
  const isNew = changes();

  peaks.addEventListener("change", show, { signal });
  segments.addEventListener("change", times, { signal });

  function show() {
    setHidden(element, peaks.chapters.length < 2);
    if (!isNew(peaks.chapters)) return;
    rows = peaks.chapters.map(({ title, first_segment: first }, number) => {
      const time = h("span", { class: "chapter-time" });
      const press = button(title || `Chapter ${number + 1}`, () => onChoose(first), { kind: "quiet", dir: "auto" });
      press.append(time);
      return { first, press, time };
    });
    replace(list, rows.map(({ press }) => h("li", {}, press)));
    times();
  }

  function times() {
    for (const { first, time } of rows) setText(time, segments.items[first] ? clock(startOf(first)) : "");
  }

  return {
    element,
    /** The chapter being played; null if none is. */
    setHeard(index) {
      const now = index === null ? null : rows.findLast(({ first }) => first <= index);
      for (const row of rows) row.press.ariaCurrent = row === now ? "true" : null;
    },
  };
}
