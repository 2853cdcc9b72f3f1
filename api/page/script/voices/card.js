// One voice: its state, a sample, and deleting it.

import { attempt, request, sendJson } from "../api.js";
import { confirmed } from "../dialog.js";
import { alerts, button, h, replace, setHidden, setText } from "../dom.js";
import { showProblem, useVoice } from "../jobs/compose/fields.js";
import { span, voiceId } from "../wording.js";
import { hearRecording } from "./recordings.js";
import { sampleButton } from "./sample.js";

const CACHE_WORDS = { pending: "Waiting to be prepared", processing: "Being prepared", ready: "Ready", failed: "Failed", stale: "Out of date" };
const URGENCY = ["failed", "processing", "pending", "stale", "ready"];
const HUES = 12;

export function voiceCard(voice, { onChosen, onDeleted, onChanged }) {
  const isOwn = voice.kind === "own";
  const trouble = alerts();
  const tell = (problem) => showProblem(trouble, problem);
  const badge = h("span", { class: "badge" });
  const box = isOwn ? h("input", { type: "checkbox", "aria-label": `Choose ${voice.name}`, on: { change: onChosen } }) : null;
  const prepare = isOwn ? button("Prepare", order, { kind: "quiet", "aria-label": `Prepare: ${voice.name}` }) : null;
  const name = h("h2", { dir: "auto", tabindex: "-1" }, voice.name);
  const element = h("li", { class: "voice", "data-kind": voice.kind },
    h("div", { class: "voice-head" }, portrait(voice.name), h("div", { class: "voice-name" }, name, h("p", { class: "voice-facts" }, factsOf(voice))), box),
    voice.description ? h("p", { class: "voice-description", dir: "auto" }, voice.description) : null,
    trouble,
    h("div", { class: "row" },
      sampleButton("Hear the voice", () => ({ voice: voiceId(voice), language: voice.language }), tell,
        { "aria-label": `Hear the voice: ${voice.name}`, disabled: !voice.models.length }),
      button("Use this voice", () => useVoice(voiceId(voice)), { kind: "quiet", "aria-label": `Use this voice: ${voice.name}`, disabled: !voice.models.length }),
      voice.sample?.kind === "recording" ? button("Recording", hear, { kind: "quiet", "aria-label": `Recording of ${voice.name}` }) : null),
    isOwn ? h("div", { class: "voice-foot" }, badge, prepare, button("Delete", remove, { kind: "quiet danger", "aria-label": `Delete ${voice.name}` })) : null);

  async function hear() {
    await tried(async () => hearRecording(await (await request("GET", `v1/voices/${voice.id}/sample`)).blob()));
  }

  async function order() {
    await tried(async () => {
      const { data } = await sendJson("POST", `v1/voices/${voice.id}/cache`);
      showCaches(data);
      onChanged();
    });
  }

  async function remove() {
    const sentence = `This deletes the recording of ${voice.name} and everything made from it. Narrations stay.`;
    if (await confirmed(`Delete ${voice.name}?`, sentence, "Delete")) await tried(() => onDeleted(voice.id));
  }

  function tried(action) {
    replace(trouble);
    return attempt(action, tell);
  }

  function showCaches(caches) {
    if (!isOwn) return;
    const worst = URGENCY.find((state) => caches.some((cache) => cache.state === state));
    setText(badge, worst ? CACHE_WORDS[worst] : "Not prepared");
    badge.dataset.state = worst ?? "none";
    badge.title = caches.map((cache) => `${cache.model}: ${CACHE_WORDS[cache.state]}${cache.error ? ` (${cache.error.detail})` : ""}`).join("\n");
    setHidden(prepare, ["ready", "pending", "processing"].includes(worst));
  }

  return { id: voice.id, element, showCaches, isChosen: () => Boolean(box?.checked) };
}

function factsOf({ kind, language, models, sample }) {
  const facts = [kind === "own" ? "Yours" : "Built in"];
  if (language !== "auto") facts.push(language);
  if (sample?.duration_s) facts.push(`${span(sample.duration_s)} recorded`);
  if (!models.length) facts.push("no running model has it");
  return facts.join(" · ");
}

/** A disc with the first letter. Its colour depends on the name. */
function portrait(name) {
  const sum = [...name].reduce((total, letter) => (total * 31 + letter.codePointAt(0)) % 9973, 7);
  const disc = h("span", { class: "portrait", "aria-hidden": "true" }, [...name.trim()][0]?.toUpperCase() ?? "?");
  disc.style.setProperty("--hue", 10 + 30 * (sum % HUES));
  return disc;
}
