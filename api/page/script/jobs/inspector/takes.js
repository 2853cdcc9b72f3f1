// The takes of a passage, newest first. The user keeps one.

import { request } from "../../api.js";
import { button, h, setHidden, setText } from "../../dom.js";
import { keyed } from "../../keyed.js";
import { playRecording } from "../../voices/recordings.js";
import { count, span } from "../../wording.js";

/** `onSelect(number)`: keep this one. `onTrouble(problem)`: why one cannot be played. */
export function takeList({ onSelect, onTrouble }) {
  const note = h("p", { class: "hint", role: "status" });
  const list = h("ul", { class: "takes", "aria-label": "Takes" });
  const element = h("div", { hidden: true }, note, list);
  const show = keyed(list, () => takeRow(onSelect, onTrouble));

  return {
    element,
    /** null: hide them. `isAwaited`: another take is being spoken. */
    show(takes, isAwaited) {
      setHidden(element, takes === null);
      const newest = takes?.length > 1 ? "Listen to both and keep one." : "";
      setText(note, isAwaited ? "The new take is being spoken …" : newest);
      show([...(takes ?? [])].reverse().map((take) => [take.take, take]));
    },
  };
}

function takeRow(onSelect, onTrouble) {
  const facts = h("span", { class: "take-facts" });
  const words = h("span", { class: "take-words", dir: "auto" });
  const inPlace = h("strong", {}, "In place");
  const hear = button("Hear", () => play(take.audio, onTrouble), { iconName: "play", kind: "quiet" });
  const use = button("Keep this one", () => onSelect(take.take), { kind: "quiet" });
  let take = null;
  return {
    element: h("li", {}, h("div", {}, facts, words), h("div", { class: "row" }, inPlace, hear, use)),
    show(next) {
      take = next;
      setText(facts, `Take ${count(take.take)} · ${span(take.duration_s ?? 0)}${take.flagged ? " · flagged" : ""}`);
      setText(words, take.text);
      hear.setAttribute("aria-label", `Hear take ${count(take.take)}`);
      use.setAttribute("aria-label", `Keep this one: take ${count(take.take)}`);
      setHidden(inPlace, !take.selected);
      setHidden(use, take.selected);
    },
  };
}

/** Rejected attempts: why each was rejected, and its audio. */
export function attemptList({ onTrouble }) {
  const list = h("ul", { class: "takes", "aria-label": "Rejected attempts", hidden: true });
  const show = keyed(list, () => attemptRow(onTrouble));
  return {
    element: list,
    show(tried) {
      setHidden(list, !tried.length);
      show(tried.map((attempt) => [attempt.attempt, attempt]));
    },
  };
}

function attemptRow(onTrouble) {
  const facts = h("span", { class: "take-facts" });
  const reasons = h("span", { class: "take-words" });
  const hear = button("Hear", () => play(attempt.audio, onTrouble), { iconName: "play", kind: "quiet" });
  let attempt = null;
  return {
    element: h("li", {}, h("div", {}, facts, reasons), hear),
    show(next) {
      attempt = next;
      setText(facts, `Attempt ${count(attempt.attempt)}`);
      setText(reasons, attempt.reasons.join("; "));
      hear.setAttribute("aria-label", `Hear attempt ${count(attempt.attempt)}`);
      setHidden(hear, !attempt.audio);
    },
  };
}

async function play(address, onTrouble) {
  try {
    await playRecording(await (await request("GET", address)).blob());
  } catch (error) {
    if (error.name !== "Problem") throw error;
    onTrouble(error);
  }
}
