// Warnings of a job that continues.

import { h, replace, setHidden, setText } from "../../dom.js";
import { counted, inPassages } from "../../wording.js";

export function jobWarnings() {
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
      replace(list, warnings.map(({ detail }) => h("p", { class: "notice warn" }, inPassages(detail))));
    },
  };
}
