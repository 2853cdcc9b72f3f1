// Another voice for a paragraph, or for all that a speaker says.

import { attempt, pages } from "../../api.js";
import { h, replace, setHidden, setText } from "../../dom.js";
import { voiceLabel } from "../../wording.js";

const MOST = 300;

/** The voices of a model as `[id, name, label]`, asked for once. */
export function voicesOf(model) {
  let asked = null;

  async function read() {
    const voices = [];
    for await (const page of pages("v1/voices", { limit: 100 })) {
      voices.push(...page.filter((each) => each.models.includes(model)));
      if (voices.length >= MOST) break;
    }
    return voices.map((each) => [each.id ?? each.name, each.name, voiceLabel(each)]);
  }

  return () => {
    asked ??= read().catch((error) => {
      asked = null;
      throw error;
    });
    return asked;
  };
}

/** `id`: of its field. `voices()`: those that there are. `onChange(indexes, voice)`: these passages get this voice. */
export function voiceMenu(id, voices, onChange) {
  const select = h("select", { id, on: { change: choose, focus: fill, pointerenter: fill } });
  const label = h("label", { for: id });
  const element = h("div", { class: "inline-field" }, label, select);
  let members = [];
  let voice = "";
  let isFilled = false;

  async function fill() {
    if (isFilled) return;
    await attempt(async () => {
      draw(await voices());
      isFilled = true;
    }, () => {});
  }

  function draw(options) {
    const others = options.filter(([, name]) => name !== voice);
    replace(select, [["", voice], ...others].map(([value, name, words = name]) => h("option", { value }, words)));
  }

  function choose() {
    if (select.value) onChange(members, select.value);
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
