// The sentences of one passage. Each can be changed alone.

import { button, h, setHidden, setText } from "../../dom.js";
import { keyed } from "../../keyed.js";

/** `onChange(id, text)` changes a sentence. It returns when the server has accepted it. */
export function sentenceList(onChange) {
  const element = h("ol", { class: "sentences", "aria-label": "Sentences" });
  const show = keyed(element, () => sentenceRow(onChange));
  return { element, show: (sentences) => show(sentences.map((sentence) => [sentence.id, sentence])) };
}

function sentenceRow(onChange) {
  const text = h("span", { class: "sentence-text", dir: "auto" });
  const spoken = h("span", { class: "sentence-spoken", hidden: true });
  const edit = button("Change", open, { kind: "quiet" });
  const field = h("textarea", { rows: 3, dir: "auto", "aria-label": "Text of the sentence", on: { keydown } });
  const save = button("Speak it so", keep, { kind: "primary" });
  const form = h("div", { class: "sentence-form", hidden: true }, field, h("div", { class: "row" }, save, button("Leave it", close)));
  const shown = h("div", { class: "sentence-shown" }, h("div", {}, text, spoken), edit);
  let sentence = null;

  function open() {
    field.value = sentence.text;
    setHidden(shown, true);
    setHidden(form, false);
    field.focus();
  }

  function close() {
    setHidden(form, true);
    setHidden(shown, false);
    edit.focus();
  }

  async function keep() {
    if (field.value.trim() !== sentence.text && !(await onChange(sentence.id, field.value))) return;
    close();
  }

  function keydown(event) {
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      keep();
    }
  }

  return {
    element: h("li", {}, shown, form),
    show(now) {
      sentence = now;
      setText(text, now.text);
      setText(spoken, now.spoken === now.text ? "" : `Spoken: ${now.spoken}`);
      setHidden(spoken, now.spoken === now.text);
      edit.setAttribute("aria-label", `Change: ${now.text}`);
    },
  };
}
