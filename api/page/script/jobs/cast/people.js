// A row for each character: its lines, its voice, and whether it is another character.

import { closeDialog, openDialog } from "../../dialog.js";
import { button, field, h, replace, setText } from "../../dom.js";
import { sampleButton } from "../../voices/sample.js";
import { counted } from "../../wording.js";
import { calledName } from "./casting.js";

const MOST_HEARD = 300;
const FEW_CHOICES = 60;

/**
 * `casting`: a `Casting`. `voices`: `[id, name]` of every voice. `language()`: to speak samples in. `onChange()`: after each
 * change. `onLines(name)`: shows the lines of a speaker. `onTrouble(problem)`: of a sample.
 */
export function personRows(casting, { voices, language, onChange, onLines, onTrouble }) {
  const nameOf = (voice) => voices.find(([id]) => id === voice)?.[1] ?? voice;
  const ofNarrator = () => ["", `The narrator's, ${nameOf(casting.narrator)}`];

  function narratorRow(words) {
    return h("li", { class: "cast-person" }, named("", "All other text"), h("div", { class: "row" }, voiceMenu("", casting.narrator, voices), hear("", words)));
  }

  function personRow({ name, sex, voice, numLines, first, merged }) {
    const facts = [numLines ? counted(numLines, "line") : "no lines", sex].filter(Boolean).join(" · ");
    return h("li", { class: "cast-person" },
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
    const other = await askedName(`Rename ${name}`, name, casting);
    if (other && other !== name) changed(() => casting.rename(name, other));
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

/** A name that the user types and no other character has; null for none. */
export function askedName(title, name, casting) {
  return new Promise((resolve) => {
    const input = h("input", { id: "person", type: "text", maxlength: 200, dir: "auto", autocomplete: "off", value: name });
    const trouble = h("p", { class: "hint", role: "alert" });
    let given = null;
    const form = h("form", { class: "stack", on: { submit } }, field("Name", input), trouble,
      h("div", { class: "row end" }, h("button", { type: "submit", class: "primary" }, "Use this name")));

    function submit(event) {
      event.preventDefault();
      const typed = input.value.trim().replace(/\s+/g, " ");
      const taken = casting.named(typed);
      if (!typed) setText(trouble, "Type a name.");
      else if (taken && taken !== name) setText(trouble, `${taken} is there already.`);
      else {
        given = typed;
        closeDialog();
      }
    }

    openDialog(title, form, () => resolve(given));
    input.select();
    input.focus();
  });
}

/**
 * A menu. One of many choices is filled when a pointer or the focus comes near, and says so: hundreds of full ones would
 * slow the page.
 * `now`: `[value, name]`. `choices()`: all of them, as such pairs. `label`: for screen readers, if `id` has no label.
 */
export function lateMenu({ label, id = null, now, choices, onChoose }) {
  const select = h("select", { id, "aria-label": label, on: { change: () => onChoose(select.value), focus: fill, pointerenter: fill } });
  let isFilled = false;
  replace(select, option(now));
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
