// One passage: how it was spoken and checked, its takes, and having it spoken again.

import { getJson, sendJson } from "../../api.js";
import { button, h, keepingFocus, replace, setHidden, setText, whileBusy } from "../../dom.js";
import { keyed } from "../../keyed.js";
import { count, decimal, span } from "../../wording.js";
import { findingWords } from "./findings.js";
import { sentenceList } from "./sentences.js";

const STATES = { pending: "Not spoken yet", running: "Being spoken", done: "Spoken", failed: "Failed" };

export function inspector(jobId, segments, { onChanged, onPlay }) {
  const title = h("h2");
  const state = h("span", { class: "inspector-state" });
  const facts = h("p", { class: "inspector-facts" });
  const findings = h("p", { class: "notice warn", hidden: true });
  const listen = button("Play from here", () => onPlay(index), { iconName: "play", kind: "primary" });
  const again = button("Speak it again", () => pressed(speakAgain));
  const compare = button("", () => pressed(readTakes));
  const sentences = sentenceList(changeSentence);
  const actions = h("div", { class: "row" }, listen, again, compare);
  const trouble = h("div", { class: "notices", role: "alert" });
  const list = h("ul", { class: "takes", "aria-label": "Takes" });
  const showTakes = keyed(list, () => takeRow((number) => pressed(() => select(number))));
  const element = h("section", { class: "inspector", "aria-label": "Chosen passage", hidden: true, on: { keydown } },
    h("div", { class: "inspector-head" }, title, state,
      button("Close", closeIt, { iconName: "close", kind: "quiet icon-only", showsLabel: false })),
    facts, findings, sentences.element, actions, trouble, list);
  let index = null;
  let takes = null;
  let numReadings = 0;

  segments.addEventListener("change", ({ detail }) => {
    if (index === null || !(detail.indexes === null || detail.indexes.includes(index))) return;
    draw();
    if (takes && takes.length !== segments.items[index].takes) attempt(readTakes);
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
      setText(findings, segment.findings.length ? `The quality gate found: ${segment.findings.map(findingWords).join("; ")}.` : "");
      setHidden(findings, !segment.findings.length);
      sentences.show(segment.sentences);
      setHidden(listen, !isDone);
      setHidden(again, !isDone);
      setText(compare.firstChild, `Compare ${count(segment.takes)} takes`);
      setHidden(compare, segment.takes < 2 || takes !== null);
      setHidden(list, takes === null);
      showTakes((takes ?? []).map((take) => [take.take, take]));
    });
  }

  async function speakAgain() {
    segments.put(await sendJson("POST", `${path()}/regenerate`));
    onChanged();
  }

  /** Whether the server has taken it. */
  function changeSentence(id, text) {
    return pressed(async () => {
      segments.put(await sendJson("PATCH", `v1/jobs/${jobId}/sentences/${id}`, { text }));
      onChanged();
    });
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

  /** What somebody asked for by a button; it cannot be asked for twice meanwhile. Whether it was done. */
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
      replace(trouble, h("p", { class: "notice bad" }, error.message));
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
    show(wanted) {
      if (wanted !== index) {
        takes = null;
        replace(trouble);
      }
      index = wanted;
      setHidden(element, false);
      draw();
      if (!listen.hidden) listen.focus({ preventScroll: true });
    },
  };
}

function takeRow(onSelect) {
  const facts = h("span");
  const inPlace = h("strong", {}, "In place");
  const use = button("Use it", () => onSelect(number), { kind: "quiet" });
  let number = null;
  return {
    element: h("li", {}, facts, inPlace, use),
    show({ take, selected, duration_s: duration, flagged }) {
      number = take;
      setText(facts, `Take ${count(take)} · ${span(duration ?? 0)}${flagged ? " · flagged" : ""}`);
      use.setAttribute("aria-label", `Use take ${count(take)}`);
      setHidden(inPlace, !selected);
      setHidden(use, selected);
    },
  };
}

function stateOf({ state, flagged, takes }) {
  if (state === "done" && flagged) return "Spoken, flagged";
  return state === "pending" && takes ? "To be spoken again" : STATES[state];
}

function factsOf(segment) {
  const facts = [segment.voice];
  if (segment.speaker) facts.push(segment.speaker);
  if (segment.duration_s) facts.push(span(segment.duration_s));
  if (segment.chars_per_s) facts.push(`${decimal(segment.chars_per_s)} characters a second`);
  if (segment.attempts > 1) facts.push(`${segment.attempts} attempts`);
  if (segment.reused) facts.push("reused from an earlier narration");
  return facts;
}
