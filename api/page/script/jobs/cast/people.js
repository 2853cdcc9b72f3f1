// A row for each character: its lines, its voice, and whether it is another character.

import { openDialog } from "../../dialog.js";
import { button, field, h, replace } from "../../dom.js";
import { sampleButton } from "../../voices/sample.js";
import { counted } from "../../wording.js";
import { calledName } from "./casting.js";

const MOST_HEARD = 300;
const FEW_CHOICES = 60;

/** `voices`: `[id, name]` of each. `language()`: of samples. `onChange()`, `onLines(name)`, `onTrouble(problem)`: what follows. */
export function personRows(casting, { voices, language, onChange, onLines, onTrouble }) {
  const nameOf = (voice) => voices.find(([id]) => id === voice)?.[1] ?? voice;
  const ofNarrator = () => ["", `The narrator's, ${nameOf(casting.narrator)}`];

  function narratorRow(words) {
    return h("li", {}, named("", "All other text"), h("div", { class: "row" }, voiceMenu("", casting.narrator, voices), hear("", words)));
  }

  function personRow({ name, sex, voice, numLines, first, merged }) {
    const facts = [numLines ? counted(numLines, "line") : "no lines", sex].filter(Boolean).join(" · ");
    return h("li", {},
      named(name, facts),
      first.map((text) => h("p", { class: "cast-first", dir: "auto" }, text)),
      merged.map((other) => h("p", { class: "row hint" }, h("span", {}, "Also ", h("bdi", {}, other)),
        button("Separate", () => changed(() => casting.separate(other)), { kind: "quiet", "aria-label": `Separate ${other}` }))),
      h("div", { class: "row" },
        voiceMenu(name, voice, [ofNarrator(), ...voices.filter(([id]) => id !== casting.narrator)]),
        hear(name, first[0]),
        lateMenu({ label: `Same person as ${name}`, now: ["", "Same person as …"], choices: () => others(name), onChoose: (other) => other && changed(() => casting.merge(name, other)) }),
        button("Rename", () => rename(name), { kind: "quiet", "aria-label": `Rename ${name}` }),
        button("Show lines", () => onLines(name), { kind: "quiet", "aria-label": `Show lines of ${name}` })));
  }

  async function rename(name) {
    const other = await askedName(`Rename ${name}`, name);
    if (other) changed(() => casting.rename(name, other));
  }

  function named(name, facts) {
    return h("p", { class: "cast-name" }, h("strong", { dir: "auto" }, calledName(name)), h("span", { class: "hint" }, facts));
  }

  function voiceMenu(name, voice, choices) {
    const now = choices.find(([id]) => id === voice) ?? [voice, nameOf(voice)];
    return lateMenu({ label: `Voice of ${calledName(name)}`, now, choices: () => choices, onChoose: (wanted) => changed(() => casting.setVoice(name, wanted)) });
  }

  function hear(name, words) {
    const order = () => ({ text: words.slice(0, MOST_HEARD), voice: casting.voiceOf(name) || casting.narrator, language: language() });
    return words ? sampleButton("Hear", order, onTrouble, { kind: "quiet", "aria-label": `Hear ${calledName(name)}` }) : null;
  }

  function others(name) {
    return [["", "Same person as …"], ...casting.people().filter((each) => each.name !== name).map((each) => [each.name, each.name])];
  }

  function changed(change) {
    change();
    onChange();
  }

  return { narratorRow, personRow };
}

/** A name that the user types; "" for none. */
export function askedName(title, value = "") {
  const input = h("input", { id: "person", maxlength: 200, dir: "auto", value });
  let given = "";
  const form = h("form", { class: "stack", method: "dialog", on: { submit: () => { given = input.value.trim(); } } }, field("Name", input),
    h("button", { class: "primary" }, "Use this name"));
  return new Promise((resolve) => {
    openDialog(title, form, () => resolve(given));
    input.select();
  });
}

/** A menu of `[value, name]` pairs. A long one is slow, so it is filled when a pointer or the focus comes near. */
export function lateMenu({ label, now, choices, onChoose }) {
  const select = h("select", { "aria-label": label, on: { change: () => onChoose(select.value), focus: fill, pointerenter: fill } });
  let isFilled = false;
  select.append(option(now));
  const { length } = choices();
  if (length <= FEW_CHOICES) fill();
  else select.append(h("option", { disabled: true }, `All ${length} come when you open this menu`));

  function fill() {
    if (isFilled) return;
    isFilled = true;
    const kept = select.value;
    const all = choices();
    replace(select, (all.some(([value]) => value === now[0]) ? all : [now, ...all]).map(option));
    select.value = kept;
  }

  return select;
}

function option([value, name]) {
  return h("option", { value, dir: "auto" }, name);
}
