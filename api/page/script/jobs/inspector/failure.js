// Why a job failed.

import { h, replace } from "../../dom.js";
import { count, inPassages } from "../../wording.js";

export function jobFailure() {
  const element = h("div", { class: "notices", role: "alert" });
  let shown = "";

  return {
    element,
    show({ error }) {
      const text = error ? textOf(error) : "";
      if (text === shown) return;
      shown = text;
      replace(element, text ? h("p", { class: "notice bad" }, text) : null);
    },
  };
}

function textOf({ detail, segment }) {
  const told = inPassages(detail);
  const place = segment === null ? "" : `Passage ${count(segment + 1)}`;
  return !place || told.startsWith(place) ? told : `${place}: ${told}`;
}
