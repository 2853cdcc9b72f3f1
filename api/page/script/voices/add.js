// A new voice: recording, transcript and the speaker's consent.

import { attempt, getJson, request } from "../api.js";
import { alerts, announce, button, field, h, replace, setHidden, setText, whileBusy } from "../dom.js";
import { showProblem } from "../jobs/compose/fields.js";
import { dropZone } from "../jobs/compose/documents.js";
import { bytes, capitalised } from "../wording.js";
import { hearRecording, stopRecording } from "./recordings.js";
import { recorder } from "./recorder.js";

const TYPES = ".wav,.flac,.mp3,.ogg,.m4a,.webm";
const STATEMENT = "The speaker agrees that this recording is used to make a voice.";

/** A text to read aloud: half a minute with most sounds of English. */
const PROMPT =
  "Every morning the ferry crosses the wide grey bay, whether anyone is waiting or not. The captain says she enjoys the quiet: just gulls, " +
  "engine and weather. On Thursdays she brings fresh bread, oranges and a huge pile of newspapers. Children run down to the jetty, " +
  "shouting out whose turn it is to catch the rope. \"Careful there!\" she laughs, and throws it just a little too far.";

export function voiceForm(onAdded) {
  const name = h("input", { id: "voice-name", type: "text", maxlength: 100, required: true, dir: "auto", autocomplete: "off" });
  const picker = h("input", { type: "file", id: "voice-file", hidden: true, accept: TYPES, on: { change: () => take(picker.files[0]) } });
  const pick = button("Choose a file", () => picker.click(), { iconName: "file" });
  const record = button("Record", toggleRecording, { iconName: "microphone" });
  const level = h("meter", { class: "level", min: 0, max: 1, low: 0.05, high: 0.9, optimum: 0.5, "aria-label": "Level", hidden: true });
  const prompt = h("blockquote", { class: "prompt", hidden: true }, PROMPT);
  const chip = h("div", { class: "chip", hidden: true });
  const refText = h("textarea", { id: "ref-text", rows: 3, maxlength: 2000, dir: "auto" });
  const language = h("select", { id: "voice-language" }, h("option", { value: "auto" }, "Automatic"));
  const consent = h("input", { type: "checkbox", id: "consent" });
  const precompute = h("input", { type: "checkbox", id: "precompute", checked: true });
  const trouble = alerts();
  const submit = h("button", { type: "submit", class: "primary" }, "Add the voice");
  const zone = h("div", { class: "recording" }, h("p", { class: "hint" }, "A clean recording of 5 to 30 seconds: WAV, FLAC, MP3, Ogg, M4A or WebM. Drop it here."),
    h("div", { class: "row" }, pick, picker, record), prompt, level, chip);
  const element = h("form", { class: "voice-form", novalidate: true, "aria-labelledby": "voice-form-title", on: { submit: send } },
    h("h2", { id: "voice-form-title" }, "New voice"),
    field("Name", name),
    zone,
    field("Transcript of the recording (optional; it makes the voice more similar)", refText),
    field("Language", language),
    h("label", { class: "check" }, consent, STATEMENT),
    h("label", { class: "check" }, precompute, "Prepare it now"),
    trouble, h("div", { class: "row end" }, submit));

  let file = null;
  let recording = null;
  const abort = new AbortController();
  dropZone(zone, take);
  if (!window.isSecureContext || !navigator.mediaDevices) {
    record.disabled = true;
    record.title = "Browsers allow the microphone on https and localhost only.";
  }
  fillLanguages();

  async function fillLanguages() {
    await attempt(async () => {
      const { languages } = await getJson("v1/capabilities", { signal: abort.signal });
      language.append(...languages.map((each) => h("option", { value: each }, capitalised(each))));
    }, (error) => showProblem(trouble, error));
  }

  function take(next) {
    picker.value = "";
    if (!next) return;
    file = next;
    replace(trouble);
    replace(chip, h("span", { class: "chip-name", dir: "auto" }, file.name), h("span", { class: "chip-facts" }, bytes(file.size)),
      button("Play the recording", () => hearRecording(file), { iconName: "play", kind: "quiet icon-only" }),
      button("Remove the recording", drop, { iconName: "close", kind: "quiet icon-only" }));
    setHidden(chip, false);
  }

  function drop() {
    stopRecording();
    file = null;
    setHidden(chip, true);
  }

  async function toggleRecording() {
    if (recording) {
      recording.stop();
      return;
    }
    replace(trouble);
    drop();
    try {
      recording = await recorder(showLevel);
    } catch (error) {
      showProblem(trouble, { message: `The microphone cannot be used: ${error.message}` });
      return;
    }
    showRecording(true);
    announce("Recording. Read the text aloud.");
    try {
      take(await recording.file);
      if (!refText.value.trim()) refText.value = PROMPT;
      announce("Recorded.");
    } catch (error) {
      showProblem(trouble, { message: `The recording failed: ${error.message}` });
    } finally {
      recording = null;
      showRecording(false);
    }
  }

  function showRecording(isRecording) {
    setText(record.querySelector("span"), isRecording ? "Stop" : "Record");
    record.classList.toggle("recording-now", isRecording);
    setHidden(prompt, !isRecording);
    setHidden(level, !isRecording);
    pick.disabled = isRecording;
  }

  function showLevel(value, seconds) {
    level.value = value;
    setText(record.querySelector("span"), `Stop (${Math.floor(seconds)} s)`);
  }

  function missing() {
    if (!name.value.trim()) return [name, "Enter a name."];
    if (!file) return [pick, "Add a recording first."];
    if (!consent.checked) return [consent, "Confirm the speaker's consent first."];
    return null;
  }

  async function send(event) {
    event.preventDefault();
    const lack = missing();
    replace(trouble);
    if (lack) {
      showProblem(trouble, { message: lack[1] });
      lack[0].focus();
      return;
    }
    await attempt(() => whileBusy(element, async () => {
      onAdded(await (await request("POST", "v1/voices", { body: formData() })).json());
      clear();
    }), (error) => showProblem(trouble, error));
  }

  function formData() {
    const form = new FormData();
    form.set("name", name.value.trim());
    form.set("consent", STATEMENT);
    if (refText.value.trim()) form.set("ref_text", refText.value.trim());
    form.set("language", language.value);
    form.set("precompute", String(precompute.checked));
    form.set("audio_sample", file, "recording");
    return form;
  }

  function clear() {
    drop();
    name.value = "";
    refText.value = "";
    consent.checked = false;
  }

  return {
    element,
    close() {
      abort.abort();
      recording?.stop();
      stopRecording();
    },
  };
}
