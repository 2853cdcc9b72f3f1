// The fields of a new narration.

import { field, h, replace } from "../../dom.js";
import { capitalised, voiceLabel } from "../../wording.js";

const FORMAT_NAMES = { wav: "WAV", flac: "FLAC", mp3: "MP3", opus: "Opus", m4b: "M4B audiobook", aac: "AAC" };
const DEFAULT_FORMAT = "wav";

const ANYBODY = "The model's default";

export function voiceField() {
  const select = h("select", { id: "voice" }, h("option", { value: "" }, ANYBODY));
  let known = [];
  let names = [];
  return {
    element: field("Voice", select),
    value: () => select.value || null,
    /** Names of the known built-in voices. */
    builtIn: () => names,
    known: () => known,
    show(voices) {
      known = voices;
      names = voices.filter((voice) => voice.kind === "built_in" && voice.models.length).map((voice) => voice.name);
      const groups = [["Yours", voices.filter((voice) => voice.kind === "own")], ["Built in", voices.filter((voice) => voice.kind === "built_in")]];
      const kept = select.value;
      replace(select, groups.filter(([, members]) => members.length).map(([label, members]) =>
        h("optgroup", { label }, members.map((voice) => h("option", { value: voice.id ?? voice.name, disabled: !voice.models.length }, voiceLabel(voice))))));
      if (!voices.length) replace(select, h("option", { value: "" }, ANYBODY));
      const builtIn = groups[1][1][0];
      select.value = kept || builtIn?.name || voices.find((voice) => voice.models.length)?.id || "";
    },
  };
}

export function languageField() {
  const select = h("select", { id: "language" }, h("option", { value: "auto" }, "Automatic"));
  return {
    element: field("Language", select),
    value: () => select.value,
    show(models) {
      const languages = [...new Set(models.flatMap((model) => model.languages))].sort();
      const kept = select.value;
      replace(select, h("option", { value: "auto" }, "Automatic"), languages.map((name) => h("option", { value: name }, capitalised(name))));
      select.value = languages.includes(kept) ? kept : "auto";
    },
  };
}

export function formatFields() {
  const boxes = h("div", { class: "choices" });
  const element = h("fieldset", {}, h("legend", {}, "Delivered as (one or more)"), boxes);
  const all = () => [...boxes.querySelectorAll("input")];

  let shown = "";

  function show(formats, wanted = [DEFAULT_FORMAT]) {
    const types = formats.map(({ type }) => type).join();
    if (types === shown) return;
    shown = types;
    replace(boxes, formats.map(({ type }) => choice("checkbox", "format", type, FORMAT_NAMES[type] ?? type, wanted.includes(type))));
  }

  show([{ type: DEFAULT_FORMAT }]);
  return {
    element,
    show,
    value: () => all().filter((box) => box.checked).map((box) => ({ type: box.value })),
    /** Select this one beside the others; null changes nothing. */
    prefer(type) {
      for (const box of all()) if (box.value === type) box.checked = true;
    },
  };
}

export function priorityFields() {
  return h("fieldset", {}, h("legend", {}, "Priority"), h("div", { class: "choices" },
    [["high", "High"], ["normal", "Normal"], ["low", "Low"]].map(([value, label]) => choice("radio", "priority", value, label, value === "normal"))));
}

export function chosen(element) {
  return element.querySelector("input:checked").value;
}

/** Show a `Problem`, one line for each violation, or none for null. Text that is there already is not announced again. */
export function showProblem(element, problem) {
  const lines = problem?.errors?.length ? problem.errors.map(violation) : problem ? [problem.message] : [];
  if (problem?.status >= 500 && problem.requestId) lines.push(`Request ${problem.requestId}`);
  if (element.textContent !== lines.join("")) replace(element, lines.map((line) => h("p", { class: "notice bad" }, line)));
}

function violation({ pointer, parameter, detail }) {
  const place = (pointer ?? parameter ?? "").replace(/^\//, "").replaceAll("/", " › ").replaceAll("_", " ");
  return place ? `${capitalised(place)}: ${detail}` : capitalised(detail);
}

function choice(type, name, value, label, isChecked) {
  return h("label", { class: "choice" }, h("input", { type, name, value, checked: isChecked }), h("span", {}, label));
}
