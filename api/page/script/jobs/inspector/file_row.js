// A file of a job, with the link that downloads it.

import { h, icon, setText } from "../../dom.js";
import { bytes, span } from "../../wording.js";

export const LATER = "when everything is spoken";

/** `onUse(event, artifact)`: the link was used. */
export function fileRow(onUse) {
  let artifact = null;
  const name = h("span", { class: "file-name", dir: "auto" });
  const facts = h("span", { class: "file-facts" });
  const link = h("a", { on: { click: (event) => artifact.url && onUse(event, artifact) } }, icon("download"), name, facts);
  return {
    element: h("li", {}, link),
    show(next) {
      artifact = next;
      setText(name, next.name);
      setText(facts, next.url ? factsOf(next) : LATER);
      link.classList.toggle("awaited", !next.url);
      if (!next.url) return;
      link.href = next.url;
      link.download = next.name;
    },
  };
}

function factsOf({ duration_s: duration, bytes: size }) {
  return duration === null ? bytes(size) : `${span(duration)} · ${bytes(size)}`;
}
