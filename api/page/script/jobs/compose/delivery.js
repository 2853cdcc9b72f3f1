// The delivery of a new narration: a publisher's preset or chosen formats, speed and files.

import { field, h, replace, setHidden, setText } from "../../dom.js";
import { formatFields } from "./fields.js";

const PRESET_NAMES = { acx: "ACX (Audible)", podcast: "Podcast", audiobook: "Audiobook", broadcast: "Broadcast" };

export function deliveryFields() {
  const formats = formatFields();
  const preset = h("select", { id: "preset", on: { change: choose } }, h("option", { value: "" }, "As chosen above"));
  const meant = h("p", { class: "hint", role: "status", hidden: true });
  const speed = h("input", { id: "speed", type: "number", min: 0.5, max: 2, step: 0.05, value: 1, inputmode: "decimal" });
  const [chapters, loudness, subtitles] = ["chapters", "loudness", "subtitles"].map((id) => h("input", { type: "checkbox", id }));
  const perChapter = h("label", { class: "check" }, chapters, "A file for each chapter");
  const even = h("label", { class: "check" }, loudness, "Even loudness of audiobooks (−18 LUFS)");
  let presets = [];

  /** A preset replaces these fields for formats and loudness. */
  function choose() {
    const chosen = presets.find(({ name }) => name === preset.value);
    for (const element of [formats.element, perChapter, even]) setHidden(element, Boolean(chosen));
    setHidden(meant, !chosen);
    setText(meant, chosen ? `Delivered as ${chosen.output.formats.map(formatWords).join(", ")}, at the preset's loudness` : "");
  }

  function show(abilities) {
    formats.show(abilities.output_formats);
    presets = abilities.presets;
    const kept = preset.value;
    replace(preset, h("option", { value: "" }, "As chosen above"),
      presets.map(({ name }) => h("option", { value: name }, PRESET_NAMES[name] ?? name)));
    preset.value = presets.some(({ name }) => name === kept) ? kept : "";
    choose();
  }

  function value() {
    const output = preset.value ? { preset: preset.value } : { formats: formats.value().map(inFiles) };
    if (!preset.value && loudness.checked) output.loudness = { target_lufs: -18 };
    if (subtitles.checked) output.subtitles = ["srt", "vtt"];
    // The server refuses invalid numbers and says why.
    if (speed.value.trim() !== "1") output.speed = Number.isNaN(speed.valueAsNumber) ? speed.value : speed.valueAsNumber;
    return output;
  }

  const inFiles = (format) => (chapters.checked ? { ...format, files: "chapters" } : format);

  return {
    formats: h("div", {}, formats.element, meant),
    choices: [
      h("div", { class: "grid" },
        field("Publisher's preset", preset),
        field("Speed", speed)),
    ],
    checks: [perChapter, even, h("label", { class: "check" }, subtitles, "Subtitles (SRT and WebVTT)")],
    prefer: formats.prefer,
    show,
    value,
  };
}

export function formatWords({ type, files }) {
  return files === "chapters" ? `${type.toUpperCase()}, a file for each chapter` : type.toUpperCase();
}
