// One passage: how it was spoken and checked, its takes, and having it changed or spoken again.

import { attempt as attempted, getJson, sendJson } from "../../api.js";
import { alerts, announce, button, h, keepingFocus, replace, setHidden, setText, whileBusy } from "../../dom.js";
import { count, counted, decimal, span, titleOf } from "../../wording.js";
import { showProblem } from "../compose/fields.js";
import { findingWords } from "./findings.js";
import { characterOf } from "./segments.js";
import { attemptList, takeList } from "./takes.js";
import { Undo } from "./undo.js";
import { speakerField, voiceFields } from "./voice_menu.js";

const STATES = { pending: "Not spoken yet", running: "Being spoken", done: "Spoken", failed: "Failed" };

/** `speakers`: voices by names of the cast. `hasVoices`: the text itself names voices, which need no character. `editor`: of the sentence in the text: `open(index)`, `keep()`, `leave()`. */
export function inspector(jobId, segments, { model, speakers, hasVoices, editor, onChanged, onPlay }) {
  const title = h("h2");
  const state = h("span", { class: "inspector-state" });
  const facts = h("p", { class: "inspector-facts" });
  const findings = h("p", { class: "notice warn", hidden: true });
  const listen = button("Play from here", () => onPlay(index), { iconName: "play", kind: "primary" });
  const again = button("Speak it again", speakAgain);
  const compare = button("", () => pressed(readTakes));
  const edit = button("Change it", () => editor.open(index));
  const cut = button("Delete the passage", () => changed([index], async () => segments.put(await sendJson("PATCH", path(), { text: "" }))), { kind: "quiet" });
  const undo = button("", () => takeBack(), { kind: "quiet" });
  const redo = button("", () => makeAgain(), { kind: "quiet" });
  const actions = h("div", { class: "row" }, listen, edit, again, compare, cut, undo, redo);
  const writing = h("div", { class: "row", hidden: true },
    // The second click of a double click on "Change it" meets this hint, and no button.
    h("p", { class: "hint whole-line", on: { mousedown: (event) => event.preventDefault() } }, "Enter: speak it so. Esc: cancel. ↑ and ↓: another sentence. An empty sentence is deleted. To add one, write two here."),
    button("Speak it so", () => editor.keep(), { kind: "primary" }), button("Cancel", () => editor.leave()),
    button("Delete the sentence", () => editor.keep(""), { kind: "quiet at-end" }));
  const spoken = h("p", { class: "hint", dir: "auto" });
  const trouble = alerts();
  const tell = (problem) => showProblem(trouble, problem);
  const voices = voiceFields(model, { onTrouble: tell,
    onSpeak: (indexes, voice) => whileBusy(casting, () => changed(indexes, () => segments.change(indexes, { voice })), element) });
  const who = speakerField((speaker) => whileBusy(casting, () => changed([index], async () => segments.put(await sendJson("PATCH", path(), { speaker }))), element));
  const casting = h("div", { class: "stack" }, who.element, voices.element);
  const list = takeList({ onSelect: select, onTrouble: tell });
  const attempts = attemptList({ onKeep: keep, onTrouble: tell });
  const words = h("details", { class: "words", on: { toggle: () => words.open && showWords() } }, h("summary", {}, "How a word is said"));
  const element = h("section", { class: "inspector", "aria-label": "Chosen passage", hidden: true, on: { keydown } },
    h("div", { class: "inspector-head" }, title, state,
      button("Close", closeIt, { iconName: "close", kind: "quiet icon-only" })),
    facts, findings, spoken, actions, writing, trouble, list.element, attempts.element,
    casting, words);
  /** A character, or a voice that the text names; "" for the narrator. */
  const saying = (segment) => characterOf(segment) || (hasVoices ? segment.speaker : "");
  const undoing = new Undo(jobId, segments);
  let index = null;
  let takes = null;
  let paragraph = [];
  let tried = [];
  let numReadings = 0;
  /** Where the last change was asked for. */
  let changedAt = null;
  let spelling = null;

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
      const otherwise = segment.sentences.filter(({ text, spoken: said }) => said !== text);
      setText(spoken, otherwise.length ? `Spoken: ${otherwise.map(({ spoken: said }) => said).join(" ")}` : "");
      setHidden(spoken, !otherwise.length);
      for (const [press, verb, indexes] of [[undo, "Undo", undoing.indexes], [redo, "Redo", undoing.undone]]) {
        setHidden(press, !(indexes.includes(index) || indexes.length && index === changedAt));
        setText(press.firstChild, `${verb} the change of ${placesOf(indexes)}`);
      }
      const isLeftOut = !segment.written;
      setHidden(listen, !isDone || isLeftOut);
      setHidden(again, !isDone || isLeftOut);
      setHidden(cut, isLeftOut);
      setText(compare.firstChild, `Compare ${count(segment.takes)} takes`);
      setHidden(compare, segment.takes < 2 || takes !== null);
      list.show(takes, !isDone);
      attempts.show(segment.state === "failed" ? tried : []);
      setHidden(casting, isLeftOut);
      who.show(index, saying(segment), people());
      voices.show(segment, voiceScopes(segment));
    });
  }

  /** Each name of the cast, with the speaker that it mostly is: a character may have got another voice. */
  function people() {
    const cast = Object.entries(speakers).map(([speaker, voice]) => ({ speaker, voice }));
    const groups = Map.groupBy([{ speaker: "", voice: "" }, ...cast, ...segments.items.filter(({ written }) => written)], saying);
    return [...groups].map(([name, members]) => [usual(members, "speaker"), name]);
  }

  /** What can get another voice together, and the voice that it has. */
  function voiceScopes(segment) {
    const name = saying(segment);
    const inParagraph = paragraph.map((place) => segments.items[place]).filter(({ written }) => written);
    const said = segments.items.filter((item) => item.written && saying(item) === name);
    const isMixed = inParagraph.some((item) => saying(item) !== name);
    const scopes = [{ words: "this passage", members: [segment], own: segment.voice }];
    if (inParagraph.length > 1) {
      const own = inParagraph.every(({ voice }) => voice === segment.voice) ? segment.voice : null;
      scopes.push({ words: `the whole paragraph${isMixed ? " with its speakers" : ""}: ${count(inParagraph.length)}`, members: inParagraph, own });
    }
    scopes.push({ words: `all that ${name || "the narrator"} says: ${count(said.length)}`, members: said, own: usual(said, "voice") });
    return scopes;
  }

  function speakAgain() {
    return changed([index], async () => segments.put(await sendJson("POST", `${path()}/regenerate`)));
  }

  /** Whether the server accepted it. */
  function changeSentence(place, text) {
    return changed([place.index], async () => segments.put(await sendJson("PATCH", `v1/jobs/${jobId}/sentences/${place.id}`, { text })));
  }

  /** A new take is compared with the old one when it is ready. The old one is kept. */
  function changed(indexes, change) {
    return pressed(async () => {
      const step = undoing.before(indexes);
      const place = index;
      try {
        await change();
      } finally {
        // Of thousands of passages some may have changed before one was refused.
        const made = step.filter(([number, take]) => segments.items[number].take !== take);
        undoing.add(made);
        if (made.length) changedAt = place;
      }
      onChanged();
      await readTakes();
    });
  }

  function takeBack(onMoved) {
    return moved(() => undoing.back(), undoing.indexes, "Undone", onMoved);
  }

  function makeAgain(onMoved) {
    return moved(() => undoing.forth(), undoing.undone, "Made again", onMoved);
  }

  function moved(go, indexes, done, onMoved) {
    if (!indexes.length) return;
    return pressed(async () => {
      await go();
      changedAt = null;
      const { written } = segments.items[indexes[0]];
      announce(`${done}: ${placesOf(indexes)}${indexes.length === 1 && written ? `, “${titleOf(null, written)}”` : ""}`, true);
      onMoved?.(indexes[0]);
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

  async function readTakes() {
    const wanted = index;
    numReadings += 1;
    const reading = numReadings;
    if (index === null) return;
    const { data } = await getJson(`${path()}/takes`);
    if (wanted !== index || reading !== numReadings) return;
    takes = data;
    draw();
  }

  function select(number) {
    return changed([index], async () => segments.put(await sendJson("POST", `${path()}/takes/${number}/select`)));
  }

  /** Returns whether it succeeded. */
  function pressed(action) {
    return attempt(() => whileBusy(actions, action, element));
  }

  function attempt(action) {
    replace(trouble);
    return attempted(() => action().then(() => true), tell);
  }

  /** The job goes on with it once it is tried again. */
  function keep(number) {
    return pressed(async () => {
      segments.put(await sendJson("POST", `${path()}/attempts/${number}/select`));
      replace(trouble, h("p", { class: "notice" }, "The attempt is kept. Press “Try again” to make the files."));
      onChanged();
    });
  }

  /** `word`: null for one of this passage. */
  async function showWords(word = null) {
    spelling ??= import("./spelling.js").then(({ spellingFields }) => {
      const made = spellingFields(segments, { model, onTrouble: tell,
        onApply: (indexes, pronunciations) => changed(indexes, async () => {
          await segments.change(indexes, { pronunciations });
          announce(`${pronunciations[0].grapheme}: said so in ${counted(indexes.length, "passage")}`);
        }) });
      words.append(made.element);
      return made;
    });
    (await spelling).show(index, word);
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
    changeSentence,
    /** Whether a sentence in the text is being changed. */
    setWriting(isWriting) {
      replace(trouble);
      keepingFocus(element, () => {
        setHidden(actions, isWriting);
        setHidden(writing, !isWriting);
      });
    },
    openWords(word) {
      words.open = true;
      showWords(word);
    },
    /** `onMoved(index)`: of the first passage that is as it was. */
    undo: takeBack,
    redo: makeAgain,
    /** `inParagraph`: the passages of its paragraph. */
    show(wanted, inParagraph) {
      if (wanted !== index) {
        [takes, tried] = [null, []];
        replace(trouble);
      }
      index = wanted;
      paragraph = inParagraph;
      if (words.open) showWords();
      setHidden(element, false);
      draw();
      if (segments.items[index].state === "failed") attempt(readAttempts);
      if (!listen.hidden) listen.focus({ preventScroll: true });
    },
  };
}

/** The voice or the speaker that most of these have. */
function usual(items, field) {
  const groups = [...Map.groupBy(items, (item) => item[field])];
  return groups.sort(([, one], [, other]) => other.length - one.length)[0]?.[0] ?? null;
}

function placesOf(indexes) {
  return indexes.length === 1 ? `passage ${count(indexes[0] + 1)}` : counted(indexes.length, "passage");
}

function stateOf({ state, flagged, takes, written }) {
  if (!written) return "Deleted";
  if (state === "done" && flagged) return "Spoken, flagged";
  return state === "pending" && takes ? "Will be spoken again" : STATES[state];
}

function factsOf(segment) {
  const facts = [segment.voice];
  const name = characterOf(segment);
  if (name) facts.push(name);
  if (segment.duration_s) facts.push(span(segment.duration_s));
  if (segment.chars_per_s) facts.push(`${decimal(segment.chars_per_s)} characters per second`);
  if (segment.attempts > 1) facts.push(`${segment.attempts} attempts`);
  if (segment.reused) facts.push("reused from an earlier narration");
  return facts;
}
