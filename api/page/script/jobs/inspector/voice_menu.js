// Another speaker for a passage; another voice for it, its paragraph, or all that a speaker says. A button speaks them.

import { attempt } from "../../api.js";
import { button, changes, h, replace, setHidden, setText } from "../../dom.js";
import { sampleButton } from "../../voices/sample.js";
import { counted, voiceId, voiceLabel } from "../../wording.js";
import { readVoices } from "../compose/fields.js";

/** Who speaks a passage. `onSpeak(speaker)`: another of the cast does. */
export function speakerField(onSpeak) {
  const who = h("select", { id: "spoken-by", on: { change: drawButton } });
  const speak = button("", () => onSpeak(who.value));
  const element = h("div", { class: "row" }, h("div", { class: "inline-field" }, h("label", { for: "spoken-by" }, "Spoken by"), who), speak);
  let names = [];
  let now = "";
  const isNew = changes();

  function drawButton() {
    const name = names[who.selectedIndex];
    speak.disabled = name === now;
    setText(speak.firstChild, speak.disabled ? `${name || "The narrator"} speaks it already` : `Speak it as ${name || "the narrator"}`);
  }

  return {
    element,
    /** `people`: `[speaker, name]` of everybody who can speak the passage; one has the name `current`. */
    show(index, current, people) {
      setHidden(element, people.length < 2);
      if (!isNew([index, current, people])) return;
      [now, names] = [current, people.map(([, name]) => name)];
      replace(who, people.map(([value, name]) => h("option", { value }, name || "the narrator")));
      who.selectedIndex = names.indexOf(now);
      drawButton();
    },
  };
}

/** `onSpeak(indexes, voice)`: these passages get this voice. `onTrouble(problem)`: an error while a voice plays, or null. */
export function voiceFields(model, { onSpeak, onTrouble }) {
  const scope = h("select", { id: "voice-of", on: { change: () => drawVoices(false) } });
  const voice = h("select", { "aria-label": "Voice", on: { change: drawButtons, focus: fill, pointerenter: fill } });
  const hear = sampleButton("Hear the voice", order, onTrouble, { kind: "quiet" });
  const speak = button("", () => onSpeak(affected(), voice.value));
  const element = h("div", { class: "row" }, h("div", { class: "inline-field" }, h("label", { for: "voice-of" }, "Voice of"), scope), voice, hear, speak);
  let segment = null;
  let scopes = [];
  let known = [];
  let isAsked = false;
  const isNew = changes();

  async function fill() {
    if (isAsked) return;
    isAsked = true;
    await attempt(async () => {
      const voices = (await readVoices()).filter(({ models }) => models.includes(model));
      known = voices.map((each) => [voiceId(each), each.name, voiceLabel(each)]);
      drawVoices(true);
    }, () => {
      isAsked = false;
    });
  }

  const now = () => scopes[scope.selectedIndex];

  /** A sentence of the passage. */
  function order() {
    return { model, voice: voice.value, language: segment.language, text: segment.sentences.find(({ text }) => text)?.text };
  }

  /** The passages that have another voice than the chosen one. */
  function affected() {
    const name = known.find(([id]) => id === voice.value)?.[1] ?? voice.value;
    return name ? now().members.filter((each) => each.voice !== name).map(({ index }) => index) : [];
  }

  function drawVoices(keepsChoice) {
    const { own } = now();
    const chosen = keepsChoice && voice.selectedIndex > 0 ? voice.value : null;
    const first = own ? (known.find(([, name]) => name === own) ?? [own, own]) : ["", "", "Several voices"];
    replace(voice, [first, ...known.filter(([, name]) => name !== own)].map(([value, name, words = name]) => h("option", { value }, words)));
    if (chosen) voice.value = chosen;
    drawButtons();
  }

  function drawButtons() {
    const { length } = affected();
    hear.disabled = !voice.value;
    speak.disabled = !length;
    const isOne = now().members.length === 1;
    setText(speak.firstChild, length ? `Speak ${counted(length, "passage")} with this voice`
      : !voice.value ? "Choose a voice for these passages" : `${isOne ? "This passage has" : "These passages have"} this voice already`);
  }

  return {
    element,
    /** `next`: what can get a voice: `{words, members, own}`, with `own` null for several voices. */
    show(passage, next) {
      const isSame = passage.index === segment?.index;
      [segment, scopes] = [passage, next];
      if (!isNew([segment.index, ...scopes.map(({ words, own }) => [words, own])])) return drawButtons();
      const place = isSame ? scope.selectedIndex : 0;
      replace(scope, scopes.map(({ words }) => h("option", {}, words)));
      scope.selectedIndex = scopes[place] ? place : 0;
      drawVoices(isSame);
    },
  };
}
