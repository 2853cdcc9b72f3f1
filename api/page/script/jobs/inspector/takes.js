// The takes of a passage, newest first. The user keeps one.

import { attempt, request } from "../../api.js";
import { announce, announceEnd, button, h, icon, keyed, replace, setHidden, setText } from "../../dom.js";
import { hearRecording, stopRecording } from "../../voices/recordings.js";
import { count, span } from "../../wording.js";
import { characterOf } from "./segments.js";

const LOADING = "Loading the recording";

/** `onSelect(number)`: keep this one. `onTrouble(problem)`: why one cannot be played. */
export function takeList({ onSelect, onTrouble }) {
  const note = h("p", { class: "hint", role: "status" });
  const both = hearButton("Hear both", hearBoth, { hidden: true });
  const list = h("ul", { class: "takes", "aria-label": "Takes" });
  const element = h("div", { hidden: true }, h("div", { class: "row" }, note, both.element), list);
  const rows = new Map();
  const show = keyed(list, (number) => {
    const row = takeRow(onSelect, onTrouble, () => inPlace?.text);
    rows.set(number, row);
    return row;
  });
  let inPlace = null;
  let pair = [];

  async function hearBoth() {
    for (const { take } of pair) {
      if (!(await rows.get(take).hear())) return;
    }
  }

  return {
    element,
    /** null: hide them. `isAwaited`: another take is being spoken. */
    show(takes, isAwaited) {
      inPlace = takes?.find(({ selected }) => selected) ?? null;
      pair = (takes ?? []).slice(-2);
      setHidden(element, takes === null);
      const newest = takes?.length > 1 ? "Keep the one you like." : "";
      setText(note, isAwaited ? "Compare the new take when it is spoken." : newest);
      setHidden(both.element, isAwaited || pair.length < 2);
      both.name(takes?.length > 2 ? "Hear the last two" : "Hear both");
      show([...(takes ?? [])].reverse().map((take) => [take.take, take]));
    },
  };
}

function takeRow(onSelect, onTrouble, textInPlace) {
  const facts = h("span", { class: "take-facts" });
  const words = h("span", { class: "take-words", dir: "auto" });
  const inPlace = h("strong", {}, "In place");
  const press = hearButton("Hear", hear, { kind: "quiet" });
  const use = button("Keep this one", () => onSelect(take.take), { kind: "quiet" });
  const element = h("li", {}, h("div", {}, facts, words), h("div", { class: "row" }, inPlace, press.element, use));
  let take = null;

  function hear() {
    return play(element, take.audio, onTrouble);
  }

  return {
    element,
    hear,
    show(next) {
      take = next;
      const told = [`Take ${count(take.take)}`, span(take.duration_s ?? 0), characterOf(take), take.voice, take.flagged && "flagged"];
      setText(facts, told.filter(Boolean).join(" · "));
      replace(words, ...differing(take.text || "Deleted", textInPlace() ?? take.text));
      press.name("Hear", `take ${count(take.take)}`);
      use.setAttribute("aria-label", `Keep this one: take ${count(take.take)}`);
      setHidden(inPlace, !take.selected);
      setHidden(use, take.selected);
    },
  };
}

/** A text whose words between the first and the last that differ from another text are marked. */
function differing(text, other) {
  const [mine, theirs] = [text, other].map((each) => each.split(" "));
  const most = Math.min(mine.length, theirs.length);
  let [before, behind] = [0, 0];
  while (before < most && mine[before] === theirs[before]) before += 1;
  while (behind < most - before && mine.at(-1 - behind) === theirs.at(-1 - behind)) behind += 1;
  const changed = mine.slice(before, mine.length - behind).join(" ");
  if (!changed) return [text];
  const rest = mine.slice(mine.length - behind).join(" ");
  return [mine.slice(0, before).map((word) => `${word} `).join(""), h("mark", {}, changed), rest && ` ${rest}`];
}

/** Rejected attempts: why each was rejected, and its audio. `onKeep(number)`: keep it nevertheless. */
export function attemptList({ onKeep, onTrouble }) {
  const list = h("ul", { class: "takes", "aria-label": "Rejected attempts", hidden: true });
  const show = keyed(list, () => attemptRow(onKeep, onTrouble));
  return {
    element: list,
    show(tried) {
      setHidden(list, !tried.length);
      show(tried.map((attempt) => [attempt.attempt, attempt]));
    },
  };
}

function attemptRow(onKeep, onTrouble) {
  const facts = h("span", { class: "take-facts" });
  const reasons = h("span", { class: "take-words" });
  const hear = hearButton("Hear", () => play(element, attempt.audio, onTrouble), { kind: "quiet" });
  const keep = button("Keep it", () => onKeep(attempt.attempt), { kind: "quiet" });
  const element = h("li", {}, h("div", {}, facts, reasons), h("div", { class: "row" }, hear.element, keep));
  let attempt = null;
  return {
    element,
    show(next) {
      attempt = next;
      setText(facts, `Attempt ${count(attempt.attempt)}`);
      setText(reasons, attempt.reasons.join("; "));
      hear.name("Hear", `attempt ${count(attempt.attempt)}`);
      keep.setAttribute("aria-label", `Keep it: attempt ${count(attempt.attempt)}`);
      setHidden(hear.element.parentElement, !attempt.audio);
    },
  };
}

/** Plays by `hear()` until that has settled; pressed again, it stops. `name(label, what)`: what it plays, for screen readers. */
function hearButton(label, hear, properties) {
  const element = button(label, press, { iconName: "play", ...properties });
  let named = [label, ""];
  let isHeard = false;

  async function press() {
    if (isHeard) {
      stopRecording();
      return;
    }
    isHeard = true;
    draw();
    try {
      await hear();
    } finally {
      isHeard = false;
      draw();
    }
  }

  function draw() {
    const [verb, what] = [isHeard ? "Stop" : named[0], named[1]];
    if (element.textContent !== verb) replace(element, icon(isHeard ? "stop" : "play"), h("span", {}, verb));
    if (what) element.setAttribute("aria-label", `${verb} ${what}`);
  }

  return {
    element,
    name(verb, what = "") {
      named = [verb, what];
      draw();
    },
  };
}

/** Alone: the narration pauses. Returns whether it played to its end. Its row is marked while it plays. */
async function play(row, address, onTrouble) {
  try {
    return await attempt(async () => {
      stopRecording();
      announce(LOADING);
      const recording = await (await request("GET", address)).blob();
      row.classList.add("sounding");
      return hearRecording(recording);
    }, onTrouble);
  } finally {
    row.classList.remove("sounding");
    announceEnd(LOADING);
  }
}
