// The fields of a new narration, and what is kept of them until it is ordered.

import { pages } from "../../api.js";
import { changes, field, h, replace, setHidden, setText } from "../../dom.js";
import { capitalised, voiceId, voiceLabel } from "../../wording.js";

const FORMAT_NAMES = { wav: "WAV", flac: "FLAC", mp3: "MP3", opus: "Opus", m4b: "M4B audiobook", aac: "AAC" };
const DEFAULT_FORMAT = "wav";

const DRAFT = "rhapsode.draft";
const LAST_VOICE = "rhapsode.voice";
const MOST_KEPT = 500_000;
const NEVER_KEPT = ["webhook", "document"];

/** This tab's new narration: `fields` by name, decisions on the `cast`, the name of its `file`, whether it `isWhole`. */
export const readDraft = () => JSON.parse(sessionStorage.getItem(DRAFT)) ?? { fields: {} };

/** Without a text that is too long to keep. */
export function writeDraft(draft) {
  if (draft.fields.text?.length > MOST_KEPT) delete draft.fields.text;
  keep(sessionStorage, DRAFT, JSON.stringify(draft));
}

export const forgetDraft = () => sessionStorage.removeItem(DRAFT);

export const keepVoice = (voice) => keep(localStorage, LAST_VOICE, voice);

/** The next new narration has this voice. */
export function useVoice(voice) {
  const draft = readDraft();
  draft.fields.voice = voice;
  writeDraft(draft);
  location.hash = "#/";
}

function keep(store, name, value) {
  try {
    store.setItem(name, value);
  } catch (error) {
    // A full store keeps nothing. The page works as before.
    store.removeItem(name);
    if (error.name !== "QuotaExceededError") throw error;
  }
}

/** What a field is called in a draft; "" if it is not kept: a webhook's address may hold a secret. */
export function keptName({ id, name, value }) {
  if (NEVER_KEPT.includes(id)) return "";
  return id || (name && `${name}=${value}`);
}

export const keptValue = (input) => (isBox(input) ? input.checked : input.multiple ? [...input.selectedOptions].map(({ value }) => value) : input.value);

/** Whether the field takes the value. */
export function putKept(input, value) {
  if (isBox(input)) input.checked = value;
  else if (input.multiple) for (const option of input.options) option.selected = value.includes(option.value);
  else if (input.options && ![...input.options].some((option) => option.value === value && !option.disabled)) return false;
  else input.value = value;
  input.dispatchEvent(new Event("change"));
  return true;
}

const isBox = ({ type }) => type === "checkbox" || type === "radio";

const ANYBODY = "The model's default";
const MOST_VOICES = 300;
/** Up to this many voices, a menu is enough to find one. */
const FEW_VOICES = 12;
const ALSO = { woman: "female", man: "male" };

/** The first voices that the server lists. */
export async function readVoices(signal) {
  const voices = [];
  for await (const page of pages("v1/voices", { limit: 100 }, { signal })) {
    voices.push(...page);
    if (voices.length >= MOST_VOICES) break;
  }
  return voices;
}

/** Whether the voice has words that begin so, in its name, description or language. */
function hasWords(voice, wanted) {
  const words = `${voiceLabel(voice)} ${voice.language}`.toLowerCase().split(/[^\p{L}\p{N}]+/u).flatMap((word) => [word, ALSO[word] ?? word]);
  return wanted.every((each) => words.some((word) => word.startsWith(each)));
}

export function voiceField() {
  const select = h("select", { id: "voice" }, h("option", { value: "" }, ANYBODY));
  // Without an id: a draft does not keep it.
  const search = h("input", { type: "search", "aria-label": "Search by name, sex or accent", placeholder: "Search: British woman", on: { input: draw, change: draw, keydown } });
  const number = h("span", { class: "hint", role: "status" });
  const searching = h("div", { class: "voice-search", hidden: true }, search, number);
  const element = field("Voice", select);
  select.before(searching);
  let known = [];
  let names = [];

  /** The voices that the search finds, and the chosen one. */
  function draw() {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = known.filter((voice) => hasWords(voice, wanted));
    const kept = select.value;
    const groups = [["Yours", "own"], ["Built in", "built_in"]].map(([label, kind]) =>
      [label, known.filter((voice) => voice.kind === kind && (found.includes(voice) || voiceId(voice) === kept))]);
    replace(select, groups.filter(([, members]) => members.length).map(([label, members]) =>
      h("optgroup", { label }, members.map((voice) => h("option", { value: voiceId(voice), disabled: !voice.models.length }, voiceLabel(voice))))));
    if (!known.length) replace(select, h("option", { value: "" }, ANYBODY));
    setHidden(searching, known.length <= FEW_VOICES);
    setText(number, `${found.length} of ${known.length}`);
    use(kept || localStorage.getItem(LAST_VOICE));
  }

  function keydown(event) {
    if (event.key !== "Enter") return;
    event.preventDefault();
    select.focus();
  }

  /** This voice; without one that can be chosen, the first. */
  function use(wanted) {
    const usable = [...select.options].filter(({ disabled }) => !disabled).map(({ value }) => value);
    select.value = [wanted, names[0], usable[0]].find((value) => usable.includes(value)) ?? "";
  }

  return {
    element,
    use,
    value: () => select.value || null,
    /** Names of the known built-in voices. */
    builtIn: () => names,
    known: () => known,
    show(voices) {
      known = voices;
      names = voices.filter((voice) => voice.kind === "built_in" && voice.models.length).map((voice) => voice.name);
      draw();
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

  const isNew = changes();

  function show(formats, wanted = [DEFAULT_FORMAT]) {
    if (!isNew(formats.map(({ type }) => type))) return;
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
