// Another voice for the paragraph of a passage.

import { pages, sendJson } from "../../api.js";
import { h, replace } from "../../dom.js";

const MOST = 300;

/** `onChange(change)`: run `change`, which asks the server. `put(segment)` gets its answer. */
export function paragraphVoice(jobId, model, { onChange, put }) {
  const select = h("select", { id: "paragraph-voice", on: { change: choose, focus: fill, pointerenter: fill } });
  const element = h("div", { class: "inline-field" }, h("label", { for: "paragraph-voice" }, "Voice of the paragraph"), select);
  let members = [];
  let voice = "";
  let isFilled = false;

  /** Loaded at the first focus: most readers never use it. */
  async function fill() {
    if (isFilled) return;
    isFilled = true;
    try {
      const voices = [];
      for await (const page of pages("v1/voices", { limit: 100 })) {
        voices.push(...page.filter((each) => each.models.includes(model)));
        if (voices.length >= MOST) break;
      }
      draw(voices.map(({ id, name }) => [id ?? name, name]));
    } catch (error) {
      if (error.name !== "Problem") throw error;
      isFilled = false;
    }
  }

  function draw(options) {
    const others = options.filter(([, name]) => name !== voice);
    replace(select, [["", voice], ...others].map(([value, name]) => h("option", { value }, name)));
  }

  function choose() {
    const wanted = select.value;
    if (!wanted) return;
    onChange(async () => {
      for (const index of members) put(await sendJson("PATCH", `v1/jobs/${jobId}/segments/${index}`, { voice: wanted }));
    });
  }

  return {
    element,
    show(paragraph, now) {
      members = paragraph;
      if (now === voice) return;
      voice = now;
      isFilled = false;
      draw([]);
    },
  };
}
