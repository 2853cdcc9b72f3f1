// One passage: its checks, its takes, and speaking it again.

import { getJson, sendJson } from "../../api.js";
import { button, h, keepingFocus, replace, setHidden, setText, whileBusy } from "../../dom.js";
import { count, decimal, span } from "../../wording.js";
import { findingWords } from "./findings.js";
import { paragraphVoice } from "./paragraph_voice.js";
import { sentenceList } from "./sentences.js";
import { attemptList, takeList } from "./takes.js";

const STATES = { pending: "Not spoken yet", running: "Being spoken", done: "Spoken", failed: "Failed" };

export function inspector(jobId, segments, { model, onChanged, onPlay }) {
  const title = h("h2");
  const state = h("span", { class: "inspector-state" });
  const facts = h("p", { class: "inspector-facts" });
  const findings = h("p", { class: "notice warn", hidden: true });
  const listen = button("Play from here", () => onPlay(index), { iconName: "play", kind: "primary" });
  const again = button("Speak it again", speakAgain);
  const compare = button("", () => pressed(readTakes));
  const voice = paragraphVoice(jobId, model, { onChange: (change) => changed(change), put: (segment) => segments.put(segment) });
  const sentences = sentenceList(changeSentence);
  const actions = h("div", { class: "row" }, listen, again, compare);
  const trouble = h("div", { class: "notices", role: "alert" });
  const list = takeList({ onSelect: (number) => pressed(() => select(number)), onTrouble: tell });
  const attempts = attemptList({ onTrouble: tell });
  const element = h("section", { class: "inspector", "aria-label": "Chosen passage", hidden: true, on: { keydown } },
    h("div", { class: "inspector-head" }, title, state,
      button("Close", closeIt, { iconName: "close", kind: "quiet icon-only", showsLabel: false })),
    facts, findings, sentences.element, actions, trouble, list.element, attempts.element, voice.element);
  let index = null;
  let takes = null;
  let paragraph = [];
  let tried = [];
  let numReadings = 0;

  segments.addEventListener("change", ({ detail }) => {
    if (index === null || !(detail.indexes === null || detail.indexes.includes(index))) return;
    draw();
    if (takes && takes.length !== segments.items[index].takes) attempt(readTakes);
    if (segments.items[index].state === "failed" && !tried.length) attempt(readAttempts);
  });

  const path = () => `v1/jobs/${jobId}/segments/${index}`;

  function draw() {
    const segment = segments.items[index];
    const isDone = segment.state === "done";
    keepingFocus(element, () => {
      setText(title, `Passage ${count(index + 1)}`);
      setText(state, stateOf(segment));
      state.dataset.state = segment.flagged ? "flagged" : segment.state;
      setText(facts, factsOf(segment).join(" · "));
      setText(findings, segment.findings.length ? `The quality checks found: ${segment.findings.map(findingWords).join("; ")}.` : "");
      setHidden(findings, !segment.findings.length);
      sentences.show(segment.sentences);
      setHidden(listen, !isDone);
      setHidden(again, !isDone);
      setText(compare.firstChild, `Compare ${count(segment.takes)} takes`);
      setHidden(compare, segment.takes < 2 || takes !== null);
      list.show(takes, !isDone);
      attempts.show(segment.state === "failed" ? tried : []);
      voice.show(paragraph, segment.voice);
    });
  }

  function speakAgain() {
    return changed(async () => segments.put(await sendJson("POST", `${path()}/regenerate`)));
  }

  /** Whether the server accepted it. */
  function changeSentence(id, text) {
    return changed(async () => segments.put(await sendJson("PATCH", `v1/jobs/${jobId}/sentences/${id}`, { text })));
  }

  /** Offers the new take beside the old one as soon as it is spoken. */
  function changed(change) {
    return pressed(async () => {
      await change();
      onChanged();
      await readTakes();
    });
  }

  async function readAttempts() {
    const wanted = index;
    const found = (await getJson(path())).tried ?? [];
    if (wanted !== index) return;
    tried = found;
    draw();
  }

  function tell(problem) {
    replace(trouble, h("p", { class: "notice bad" }, problem.message));
  }

  async function readTakes() {
    const wanted = index;
    numReadings += 1;
    const reading = numReadings;
    const { data } = await getJson(`${path()}/takes`);
    if (wanted !== index || reading !== numReadings) return;
    takes = data;
    draw();
  }

  async function select(number) {
    segments.put(await sendJson("POST", `${path()}/takes/${number}/select`));
    await readTakes();
    onChanged();
  }

  /** Runs a button's action and disables the button meanwhile. Returns whether it succeeded. */
  function pressed(action) {
    return attempt(() => whileBusy(actions, action, element));
  }

  async function attempt(action) {
    replace(trouble);
    try {
      await action();
      return true;
    } catch (error) {
      if (error.name !== "Problem") throw error;
      tell(error);
      return false;
    }
  }

  function closeIt() {
    const was = index;
    index = null;
    takes = null;
    setHidden(element, true);
    element.dispatchEvent(new CustomEvent("closed", { detail: was }));
  }

  function keydown(event) {
    if (event.key === "Escape") closeIt();
  }

  return {
    element,
    /** `inParagraph`: the passages of its paragraph. */
    show(wanted, inParagraph) {
      if (wanted !== index) {
        [takes, tried] = [null, []];
        replace(trouble);
      }
      index = wanted;
      paragraph = inParagraph;
      setHidden(element, false);
      draw();
      if (segments.items[index].state === "failed") attempt(readAttempts);
      if (!listen.hidden) listen.focus({ preventScroll: true });
    },
  };
}

function stateOf({ state, flagged, takes }) {
  if (state === "done" && flagged) return "Spoken, flagged";
  return state === "pending" && takes ? "Will be spoken again" : STATES[state];
}

function factsOf(segment) {
  const facts = [segment.voice];
  if (segment.speaker) facts.push(segment.speaker);
  if (segment.duration_s) facts.push(span(segment.duration_s));
  if (segment.chars_per_s) facts.push(`${decimal(segment.chars_per_s)} characters per second`);
  if (segment.attempts > 1) facts.push(`${segment.attempts} attempts`);
  if (segment.reused) facts.push("reused from an earlier narration");
  return facts;
}
