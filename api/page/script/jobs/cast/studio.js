// Who speaks in a new narration: its characters with their voices, and its lines, for a person to check.

import { alerts, button, h, replace, setHidden, setText } from "../../dom.js";
import { stopSample } from "../../voices/sample.js";
import { count, counted, percent, voiceId, voiceLabel } from "../../wording.js";
import { showProblem } from "../compose/fields.js";
import { Casting, calledName } from "./casting.js";
import { contextIn } from "./context.js";
import { askedName, lateMenu, personRows } from "./people.js";

const PEOPLE_SHOWN = 6;
const LINES_SHOWN = 12;
/** No name begins with a blank. */
const ANOTHER = " ";

/** `plan`: with lines. `narrator`: id or name of a voice. `voices`: as the server lists them. `decided`: earlier decisions, or nothing. */
export function castStudio(plan, { narrator, voices, decided, language, onNarrate, onBack }) {
  const casting = new Casting(plan, narrator, decided);
  const usable = voicesBeside(narrator, voices);
  const nameOf = (voice) => usable.find(([id]) => id === voice)?.[1] ?? voice;
  const around = contextIn(plan.segments);
  const heading = h("h1", { tabindex: "-1" }, "Who speaks");
  const summary = h("p", { role: "status" });
  const trouble = alerts();
  const tell = (problem) => showProblem(trouble, problem);
  const rows = personRows(casting, { voices: usable, language, onChange: showAll, onLines: showLinesOf, onTrouble: tell });
  const narration = h("ul", { class: "cast-rows", "aria-label": "Narrator" });
  const own = h("input", { type: "checkbox", checked: casting.speaksThoughts, on: { change: () => {
    casting.speaksThoughts = own.checked;
    showAll();
  } } });
  const thoughts = casting.numThoughts ? h("label", { class: "check" }, own, `Characters speak their own thoughts: ${counted(casting.numThoughts, "line")} in italics`) : null;
  const people = pager("Characters", PEOPLE_SHOWN, rows.personRow);
  const filter = h("span", {});
  const linesHeading = h("h2", { tabindex: "-1" }, "Lines");
  const lines = pager("Lines", LINES_SHOWN, lineRow);
  const narrate = button("Narrate with this cast", onNarrate, { kind: "primary large" });
  const element = h("section", { class: "cast", "aria-label": "Who speaks" },
    h("div", { class: "row between" }, heading, button("Back to the text", onBack, { iconName: "back", kind: "quiet" })),
    summary, narration, thoughts, h("h2", {}, "Characters"), people.element,
    h("div", { class: "row between" }, linesHeading, filter), lines.element,
    trouble, h("div", { class: "row end" }, narrate));
  let shown = "all";

  function showAll() {
    const active = document.activeElement?.getAttribute("aria-label");
    showPeople();
    showLines(false);
    focusOn(active);
  }

  /** The row that was changed is a new one. */
  function focusOn(label) {
    if (label && document.activeElement === document.body) (element.querySelector(`[aria-label="${CSS.escape(label)}"]`) ?? heading).focus({ preventScroll: true });
  }

  function showPeople() {
    const active = document.activeElement?.getAttribute("aria-label");
    const known = casting.people();
    setText(summary, summaryOf(casting, known.length));
    replace(narration, rows.narratorRow(plan.segments[0].text));
    people.show(known);
    focusOn(active);
  }

  function showLines(isFromStart) {
    // The speaker shown may be merged by now.
    if (shown !== "all" && !speakers().some(([name]) => `of ${name}` === shown)) shown = "all";
    const choices = () => [["all", "All, uncertain first"], ...speakers().map(([name, said]) => [`of ${name}`, `Of ${said}`])];
    const now = choices().find(([value]) => value === shown);
    replace(filter, lateMenu({ label: "Lines shown", now, choices, onChoose: choose }));
    lines.show(casting.linesOf(shown === "all" ? null : shown.slice(3)), isFromStart);
  }

  function choose(value) {
    shown = value;
    showLines(true);
  }

  function showLinesOf(name) {
    choose(`of ${name}`);
    linesHeading.scrollIntoView({ block: "start" });
    linesHeading.focus({ preventScroll: true });
  }

  function speakers() {
    return [["", calledName("")], ...casting.people().map(({ name }) => [name, calledName(name)])];
  }

  function lineRow(number) {
    const line = casting.line(number);
    const [before, said, after] = around(line);
    const speaker = casting.speakerOf(number);
    const state = h("span", { class: "hint" });
    const right = button("Right", () => {
      menu.focus({ preventScroll: true });
      decide(casting.speakerOf(number));
    }, { kind: "quiet", "aria-label": `Right: ${line.text}` });
    const menu = lateMenu({ label: `Speaker of ${line.text}`, now: [speaker, calledName(speaker)],
      choices: () => [...speakers(), [ANOTHER, "Another person …"]], onChoose: (name) => (name === ANOTHER ? another() : decide(name)) });

    function decide(name) {
      casting.setSpeaker(number, name);
      tellState();
      showPeople();
    }

    async function another() {
      menu.value = casting.speakerOf(number);
      const name = await askedName("Another person");
      if (!name) return;
      casting.setSpeaker(number, casting.add(name));
      showAll();
    }

    function tellState() {
      const isUncertain = casting.isUncertain(number);
      setText(state, isUncertain ? `${percent(line.probability)} sure` : "");
      setHidden(right, !isUncertain);
    }

    tellState();
    return h("li", {},
      h("p", { class: "cast-words", dir: "auto" }, before, h("mark", {}, said), after),
      h("div", { class: "row" }, menu, state, right));
  }

  showAll();
  return {
    element,
    tell,
    focus: () => heading.focus(),
    order: () => casting.order(nameOf),
    decisions: () => casting.decisions(),
    narrator: () => casting.narrator,
    close() {
      stopSample();
      element.remove();
    },
  };
}

/** `[id, name]` of the voices that some model has together with the narrator's. */
function voicesBeside(narrator, voices) {
  const models = voices.find((voice) => voiceId(voice) === narrator || voice.name === narrator)?.models ?? [];
  return voices.filter((voice) => voice.models.some((model) => !models.length || models.includes(model))).map((voice) => [voiceId(voice), voiceLabel(voice)]);
}

function summaryOf(casting, numPeople) {
  const number = casting.numUncertain;
  const found = `${counted(casting.numLines, "line")} of ${counted(numPeople, "character")}.`;
  return number ? `${found} Check ${counted(number, "uncertain line")}.` : found;
}

/** A long list, a few rows at a time. `rowOf(entry)` makes a row's element. `name`: of the list, for screen readers. */
function pager(name, size, rowOf) {
  const list = h("ul", { class: "cast-rows", "aria-label": name });
  const place = h("span", { class: "hint" });
  const previous = button("Previous", () => turn(-size), { kind: "quiet", "aria-label": `Previous ${name.toLowerCase()}` });
  const next = button("Next", () => turn(size), { kind: "quiet", "aria-label": `Next ${name.toLowerCase()}` });
  const foot = h("div", { class: "row" }, previous, place, next);
  let entries = [];
  let first = 0;

  function turn(by) {
    first += by;
    draw();
    list.scrollIntoView({ block: "start" });
  }

  function draw() {
    first = Math.max(0, Math.min(first, Math.floor((entries.length - 1) / size) * size));
    const shown = entries.slice(first, first + size);
    replace(list, shown.map(rowOf));
    setText(place, `${count(first + 1)} to ${count(first + shown.length)} of ${count(entries.length)}`);
    previous.disabled = first === 0;
    next.disabled = first + size >= entries.length;
    setHidden(foot, entries.length <= size);
  }

  return {
    element: h("div", { class: "stack" }, list, foot),
    show(all, isFromStart = false) {
      entries = all;
      if (isFromStart) first = 0;
      draw();
    },
  };
}
