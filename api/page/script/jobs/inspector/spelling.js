// How a word is said. The user types it, hears it and applies it to every passage with the word.

import { button, field, h, replace, setText } from "../../dom.js";
import { sampleButton } from "../../voices/sample.js";
import { counted } from "../../wording.js";
import { characterOf } from "./segments.js";

const NAME = /(?<=[\p{Ll},;:] |\b(?:Mrs?|Ms|Dr|St)\. )(?!(?:Mrs?|Ms|Dr|St)\.)\p{Lu}\p{L}[\p{L}\p{M}'’-]*(?: \p{Lu}\p{L}[\p{L}\p{M}'’-]*)*/gu;
/** Dates, and what begins with an article, are no names. */
const NO_NAME = /^(?:(?:The|An?) .*|The|January|February|March|April|May|June|July|August|September|October|November|December|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)$/;
const NAME_END = /['’]s$| (?:St|Rd|Ave|Ln|Sq|Blvd)$/;
const MARKED = /(?=[^\x00-\x7f])\p{L}/u;
const EXAMPLE = "such as mah-ren for Maren";
const WORD = /\p{L}[\p{L}\p{M}'’-]*/gu;
const NO_SPACES = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}]/u;
const RUN = /[\p{L}\p{M}\p{N}]+/gu;
const MOST_NAMES = 200;

/** Finds the word as a whole, in the same case. */
export function finder(word) {
  const pattern = word.trim().replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&").replace(/\s+/g, "\\s+");
  return new RegExp(NO_SPACES.test(word) ? pattern : `(?<![\\p{L}\\p{M}\\p{N}])${pattern}(?![\\p{L}\\p{M}\\p{N}])`, "gu");
}

function placesOf(word, { items }) {
  const wanted = finder(word);
  return word.trim() ? items.filter(({ written }) => written.search(wanted) >= 0).map(({ index }) => index) : [];
}

/** How it is said now by the user's wish; "" for no such wish. */
const wished = (word, { items }) => items.flatMap((item) => item.pronunciations).find(({ grapheme }) => grapheme === word.trim())?.alias ?? "";

/** `onApply(indexes, pronunciations)`: say it so in these passages: whether that is accepted. */
export function spellingFields(segments, { model, onApply, onTrouble }) {
  const known = h("datalist", { id: "words" });
  const word = h("input", { type: "text", id: "word", list: "words", maxlength: 200, dir: "auto", autocomplete: "off", on: { input: draw } });
  const said = h("input", { type: "text", id: "said", maxlength: 1000, dir: "auto", autocomplete: "off", on: { input: draw, keydown } });
  const hear = sampleButton("Hear it in a sentence", order, onTrouble);
  const apply = button("", send, { kind: "primary" });
  const element = h("div", { class: "words-fields" }, known,
    field("Word", word),
    field("Said as", said),
    h("div", { class: "row" }, hear, apply));
  let index = 0;
  let places = [];

  /** A sentence with the word as it would be said, at first by its spelling. */
  function order() {
    const { sentences, voice, language } = segments.items[places.includes(index) ? index : places[0]];
    const wanted = finder(word.value);
    const { text } = sentences.find((sentence) => sentence.text.search(wanted) >= 0) ?? sentences[0];
    return { model, voice, language, text: text.replace(wanted, () => said.value.trim() || word.value) };
  }

  function draw() {
    places = placesOf(word.value, segments);
    hear.disabled = !places.length;
    apply.disabled = hear.disabled || !said.value.trim();
    const now = wished(word.value, segments);
    said.placeholder = now ? `now ${now}` : EXAMPLE;
    setText(apply.firstChild, `Say it so in ${counted(places.length, "passage")}`);
  }

  async function send() {
    await onApply(places, [{ grapheme: word.value.trim(), alias: said.value.trim() }]);
    draw();
  }

  function keydown(event) {
    if (event.key === "Enter" && !hear.disabled && !event.isComposing) hear.click();
  }

  return {
    element,
    show(wanted, name) {
      if (wanted !== index) [word.value, said.value] = ["", ""];
      index = wanted;
      replace(known, [...new Set(segments.textOf(index).match(WORD))].map((value) => h("option", { value })));
      if (name !== null) [word.value, said.value] = [name, wished(name, segments)];
      draw();
      if (name === null) return;
      said.focus({ preventScroll: true });
      element.scrollIntoView({ block: "center" });
    },
  };
}

/**
 * The words said as the user wishes, the guessed ones, the other names and the speakers, as buttons: the most frequent first. `onName(name, index)`: of its first passage.
 * `onShow(index)`: a speaker's next passage.
 */
export function nameList({ items }, onName, onShow) {
  const places = ({ written, index }, words) => words.flatMap((word) => [...written.matchAll(finder(word))].map(() => [word, index]));
  const wishes = tally(items.flatMap((item) => places(item, item.pronunciations.map(({ grapheme }) => grapheme))));
  const isNew = (lists) => ([name]) => !lists.flat().some(([word]) => word === name);
  const changed = tally(items.flatMap((item) => places(item, changedWords(item)))).filter(isNew([wishes]));
  const guessed = [...changed, ...tally(items.flatMap((item) => places(item, item.guessed))).filter(isNew([wishes, changed]))];
  const names = tally(items.flatMap(({ written, index }) => [...written.matchAll(NAME)].map(([name]) => [name.replace(NAME_END, ""), index])))
    .filter(([name]) => !NO_NAME.test(name)).filter(isNew([wishes, guessed]));
  const speakers = tally(items.map((item) => [characterOf(item), item.index]).filter(([name]) => name));
  const hint = (text) => h("p", { class: "hint" }, text);
  const find = finderIn(items);
  const words = (title, found) => (found.length ? [hint(title), h("div", { class: "choices" }, found.map(([name]) => [name, find(name)]).sort(byNumber).map(([name, at]) => {
    const alias = wished(name, { items });
    const label = `${name}${alias && `, said as ${alias}`} · ${at.length}`;
    return button(label, () => onName(name, at[0]), { dir: "auto", "data-name": name, "aria-label": `${label}: how it is said` });
  }))] : []);
  const found = [...words("Said as you wish:", wishes), ...words("No dictionary has these words. Their sound is guessed:", guessed), ...words("Names in the text:", names)];
  return [
    ...(found.length ? found : [hint("No names were found. Open a passage for other words.")]),
    h("div", { class: "choices" }, speakers.map(([name, at]) => {
      let next = 0;
      return button(`${name}: ${counted(at.length, "passage")}`, () => onShow(at[next++ % at.length][1]), { dir: "auto", "data-name": `: ${name}` });
    })),
  ];
}

/** Words with marked letters that are spoken without them. */
const changedWords = ({ sentences }) => [...new Set(sentences.flatMap(({ text, spoken }) =>
  (text.match(WORD) ?? []).filter((word) => MARKED.test(word) && !spoken.includes(word))))];

/** Pairs of name and passage, by name. The most frequent comes first. */
function tally(pairs) {
  return [...Map.groupBy(pairs, ([name]) => name)].sort(byNumber).slice(0, MOST_NAMES);
}

const byNumber = ([, one], [, other]) => other.length - one.length;

/** `placesOf` for many words: reads only the passages that have a word's first run of letters. */
function finderIn(items) {
  const byRun = new Map();
  for (const item of items) {
    for (const run of new Set(item.written.match(RUN))) {
      if (byRun.has(run)) byRun.get(run).push(item);
      else byRun.set(run, [item]);
    }
  }
  return (word) => placesOf(word, { items: NO_SPACES.test(word) ? items : byRun.get(word.match(RUN)?.[0]) ?? items });
}
