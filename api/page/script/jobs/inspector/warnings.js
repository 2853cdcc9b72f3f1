// What was flagged, guessed or left out: the warnings of a job, in the order of its text.

import { button, h, replace, setHidden, setText } from "../../dom.js";
import { count, counted, inPassages } from "../../wording.js";

/** `onShow(index)`: show this passage. */
export function jobWarnings(onShow) {
  const summary = h("summary");
  const list = h("div", { class: "notices" });
  const element = h("details", { class: "warnings", hidden: true }, summary, list);
  let shown = "";

  return {
    element,
    show({ warnings }) {
      const text = JSON.stringify(warnings);
      if (text === shown) return;
      shown = text;
      setHidden(element, warnings.length === 0);
      setText(summary, counted(warnings.length, "warning"));
      replace(list, warnings.toSorted((one, other) => (one.segment ?? -1) - (other.segment ?? -1)).map(({ detail, segment }) =>
        h("p", { class: "notice warn" }, inPassages(detail), segment === null ? null
          : button(`Show passage ${count(segment + 1)}`, () => onShow(segment), { kind: "quiet" }))));
    },
  };
}
