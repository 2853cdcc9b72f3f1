// Another voice for a paragraph, or for all that a speaker says.

import { pages, sendJson } from "../../api.js";
import { h, replace, setHidden, setText } from "../../dom.js";

const MOST = 300;

/** The voices of a model as `[id, name]`, asked for once. */
export function voicesOf(model) {
  let asked = null;

  async function read() {
    const voices = [];
    for await (const page of pages("v1/voices", { limit: 100 })) {
      voices.push(...page.filter((each) => each.models.includes(model)));
      if (voices.length >= MOST) break;
    }
    return voices.map(({ id, name }) => [id ?? name, name]);
  }

  return () => {
    asked ??= read().catch((error) => {
      asked = null;
      throw error;
    });
    return asked;
  };
}

/**
 * `id`: of its field. `voices()`: those that there are. `onChange(indexes, change)`: carry out `change`, which asks the
 * server for these passages; `put(segment)` takes what it answers.
 */
export function voiceMenu(jobId, id, voices, { onChange, put }) {
  const select = h("select", { id, on: { change: choose, focus: fill, pointerenter: fill } });
  const label = h("label", { for: id });
  const element = h("div", { class: "inline-field" }, label, select);
  let members = [];
  let voice = "";
  let isFilled = false;

  /** When the pointer or the focus comes near it: most menus are never opened. */
  async function fill() {
    if (isFilled) return;
    try {
      draw(await voices());
      isFilled = true;
    } catch (error) {
      if (error.name !== "Problem") throw error;
    }
  }

  function draw(options) {
    const others = options.filter(([, name]) => name !== voice);
    replace(select, [["", voice], ...others].map(([value, name]) => h("option", { value }, name)));
  }

  function choose() {
    const wanted = select.value;
    if (!wanted) return;
    onChange(members, async () => {
      for (const index of members) put(await sendJson("PATCH", `v1/jobs/${jobId}/segments/${index}`, { voice: wanted }));
    });
  }

  return {
    element,
    /** `indexes`: the passages that change together; none, and there is no menu. */
    show(name, indexes, now) {
      setText(label, name);
      setHidden(element, !indexes.length);
      members = indexes;
      if (now === voice) return;
      voice = now;
      isFilled = false;
      draw([]);
    },
  };
}
