// Why a job failed, and its warnings in the order of its text: what was flagged, guessed or left out.

import { alerts, button, changes, h, replace, setHidden, setText } from "../../dom.js";
import { count, counted, inPassages } from "../../wording.js";
import { showProblem } from "../compose/fields.js";

/** The state alone tells a user's own cancellation. */
export function jobFailure() {
  const element = alerts();
  return {
    element,
    show({ error }) {
      showProblem(element, error && error.code !== "cancelled_by_user" ? { message: textOf(error) } : null);
    },
  };
}

function textOf({ detail, segment }) {
  const told = inPassages(detail);
  const place = segment === null ? "" : `Passage ${count(segment + 1)}`;
  return !place || told.startsWith(place) ? told : `${place}: ${told}`;
}

/** `onShow(index)`: show this passage. */
export function jobWarnings(onShow) {
  const summary = h("summary");
  const list = h("div", { class: "notices" });
  const element = h("details", { class: "warnings", hidden: true }, summary, list);
  const isNew = changes();

  return {
    element,
    show({ warnings }) {
      if (!isNew(warnings)) return;
      setHidden(element, warnings.length === 0);
      const flagged = warnings.filter(({ code }) => code.startsWith("segment_")).length;
      const others = counted(warnings.length - flagged, "other", "others");
      setText(summary, flagged ? `Warnings: ${counted(flagged, "flagged passage")}${warnings.length > flagged ? `, ${others}` : ""}` : counted(warnings.length, "warning"));
      replace(list, warnings.toSorted((one, other) => (one.segment ?? -1) - (other.segment ?? -1)).map(({ detail, segment }) =>
        h("p", { class: "notice warn" }, inPassages(detail), segment === null ? null
          : button(`Show passage ${count(segment + 1)}`, () => onShow(segment), { kind: "quiet" }))));
    },
  };
}
