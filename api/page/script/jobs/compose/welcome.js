// The first visit: three samples to play, and a text to narrate with one click.

import { alerts, button, h, setHidden } from "../../dom.js";
import { sampleButton } from "../../voices/sample.js";
import { showProblem } from "./fields.js";

const SAMPLES = [
  ["A story", "Long ago, in a house at the end of the lane, there lived a cat who could not sleep."],
  ["The news", "Good evening. The bridge over the harbour opens again tomorrow morning, two weeks early."],
  ["A letter", "Dear Anna, the apples are in, the roof is dry, and the kitchen smells of bread. Come soon."],
];
const FABLE = `The Crow and the Pitcher

A thirsty crow found a pitcher with a little water at the bottom, too deep for her beak to reach.

She tried to tip it over, but it was too heavy. So she picked up pebbles, one after the other, and dropped them in. With each of them the water rose a little.

At last it stood at the brim, and she drank.`;

/** `speakers()`: names of the available voices. `onText(text)`: narrate it. */
export function welcome({ speakers, onText }) {
  const trouble = alerts();
  const tell = (problem) => showProblem(trouble, problem);
  const voiceOf = (place) => speakers()[place % Math.max(1, speakers().length)];
  const samples = SAMPLES.map(([label, text], place) => sampleButton(label, () => ({ text, voice: voiceOf(place), language: "auto" }), tell));
  const element = h("section", { class: "welcome", "aria-label": "Getting started", hidden: true },
    h("div", {}, h("h2", {}, "Hear it first"), h("p", { class: "hint" }, "Spoken now. Nothing is stored."), h("div", { class: "row" }, samples)),
    h("div", {}, h("h2", {}, "Make your first narration"), h("p", { class: "hint" }, "A fable of half a minute, as a file to keep."),
      button("Narrate a fable", () => onText(FABLE))),
    trouble);
  return { element, show: (isWanted) => setHidden(element, !isWanted) };
}
