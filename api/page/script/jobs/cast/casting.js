// Who speaks in a text, as a person decides: the plan's guess and the changes to it.

/** More probable lines need no check: about 95 % are right. */
const SURE = 0.88;
const MOST_SPEAKERS = 64;
const MOST_FIRST = 2;

const FIRST_PERSON = "I";

/** `narrator`: the voice of all other text. `decided`: earlier `decisions()`, or nothing. A speaker "" is the narrator. */
export class Casting {
  #lines;
  #people;
  #speakers;
  #voices;
  #keys;
  #added = [];
  #merged = new Map();
  #checked = new Set();
  /** Whether each character speaks their own thoughts, which stand in italics. Otherwise the narrator does. */
  speaksThoughts = false;

  constructor({ cast }, narrator, decided) {
    this.narrator = narrator;
    this.#lines = cast.lines;
    this.#keys = keysOf(this.#lines);
    this.#people = [...cast.characters];
    this.#speakers = this.#lines.map((line) => line.speaker);
    // Characters without a voice have the narrator's.
    this.#voices = new Map(cast.characters.map(({ name, voice }) => [name, voice === narrator ? "" : voice]));
    if (decided) this.#take(decided);
  }

  /** What a person decided, by line. A line of an earlier text counts if it is here as often. */
  decisions() {
    return { speakers: [...this.#checked].map((number) => [this.#keys[number], this.#speakers[number]]),
      added: this.#added, merged: [...this.#merged], voices: [...this.#voices], thoughts: this.speaksThoughts };
  }

  #take({ speakers, added, merged, voices, thoughts }) {
    this.speaksThoughts = thoughts ?? false;
    for (const name of added) this.add(name);
    for (const [name, voice] of voices) if (this.#knows(name)) this.setVoice(name, voice);
    for (const [name, other] of merged) if (this.#knows(name) && this.#knows(other)) this.merge(name, other);
    const numbers = new Map(this.#keys.map((key, number) => [key, number]));
    for (const [key, name] of speakers) if (numbers.has(key) && (!name || this.#knows(name))) this.setSpeaker(numbers.get(key), name);
  }

  #knows(name) {
    return this.#people.some((person) => person.name === name);
  }

  /** The character with this name, in any case; a new one if the text has none. */
  add(name) {
    const known = this.#people.find((person) => person.name.toLowerCase() === name.toLowerCase());
    if (known) return known.name;
    this.#people.push({ name, sex: "" });
    this.#voices.set(name, "");
    this.#added.push(name);
    return name;
  }

  rename(name, other) {
    const { length } = this.#added;
    const kept = this.add(other);
    if (kept === name) return;
    if (this.#added.length > length) this.setVoice(kept, this.voiceOf(name));
    this.separate(kept);
    this.merge(name, kept);
  }

  line(number) {
    return this.#lines[number];
  }

  speakerOf(number) {
    return this.#kept(this.#speakers[number]);
  }

  setSpeaker(number, name) {
    this.#speakers[number] = name;
    this.#checked.add(number);
  }

  isUncertain(number) {
    return this.#lines[number].probability < SURE && !this.#checked.has(number);
  }

  voiceOf(name) {
    return name === "" ? this.narrator : this.#voices.get(name);
  }

  setVoice(name, voice) {
    if (name === "") this.narrator = voice;
    else this.#voices.set(name, voice);
  }

  /** From now on one is the other, with the other's voice. */
  merge(name, other) {
    this.#merged.set(name, other);
  }

  separate(name) {
    this.#merged.delete(name);
  }

  /** Everybody but the narrator, by the plan's numbers of lines: `{name, sex, voice, numLines, first, merged}`. */
  people() {
    const shown = new Map();
    for (const { name, sex } of this.#people) {
      if (!this.#merged.has(name)) shown.set(name, { name, sex, voice: this.voiceOf(name), numLines: 0, first: [], merged: [] });
    }
    for (const name of this.#merged.keys()) shown.get(this.#kept(name)).merged.push(name);
    for (const number of this.#numbers) {
      const speaker = shown.get(this.speakerOf(number));
      if (!speaker) continue;
      speaker.numLines += 1;
      if (speaker.first.length < MOST_FIRST) speaker.first.push(this.#lines[number].text);
    }
    return [...shown.values()];
  }

  /** Numbers of lines in the order of the text, the guessed ones first. `name`: of their speaker; null for all. */
  linesOf(name = null) {
    const numbers = this.#numbers.filter((number) => name === null || this.speakerOf(number) === name);
    const isGuess = (number) => this.#lines[number].probability < SURE;
    return [...numbers.filter(isGuess), ...numbers.filter((number) => !isGuess(number))];
  }

  get numLines() {
    return this.#numbers.length;
  }

  get numUncertain() {
    return this.#numbers.filter((number) => this.isUncertain(number)).length;
  }

  get numThoughts() {
    return this.#lines.filter(({ thought }) => thought).length;
  }

  /** Of the lines that have a speaker. */
  get #numbers() {
    return [...this.#lines.keys()].filter((number) => this.speaksThoughts || !this.#lines[number].thought);
  }

  /**
   * What a job needs: `{voice, speakers, lines}`. A line in the narrator's voice is part of the other text. `nameOf(voice)`:
   * what people call it. A job has a limited number of speakers: those with few lines share a name for each voice.
   */
  order(nameOf) {
    const spoken = this.people().filter(({ voice, numLines }) => numLines && voice && voice !== this.narrator);
    const most = spoken.toSorted((one, other) => other.numLines - one.numLines);
    const room = MOST_SPEAKERS - new Set(spoken.map(({ voice }) => voice)).size;
    const own = new Set(most.length > MOST_SPEAKERS ? most.slice(0, room) : most);
    const names = freeNames();
    const shared = new Map();
    const speakers = [];
    const keys = new Map();
    for (const person of most) {
      const { name, voice } = person;
      let key = own.has(person) ? null : shared.get(voice);
      if (!key) {
        key = names(own.has(person) ? name : nameOf(voice));
        speakers.push([key, voice]);
        if (!own.has(person)) shared.set(voice, key);
      }
      keys.set(name, key);
    }
    const lines = new Map(speakers.map(([key]) => [key, []]));
    for (const number of this.#numbers) lines.get(keys.get(this.speakerOf(number)))?.push(this.#lines[number].id);
    return { voice: this.narrator, speakers: Object.fromEntries(speakers), lines: Object.fromEntries(lines) };
  }

  #kept(name) {
    let kept = name;
    while (this.#merged.has(kept)) kept = this.#merged.get(kept);
    return kept;
  }
}

export function calledName(name) {
  if (name === "") return "Narrator";
  return name === FIRST_PERSON ? "I, who tells the story" : name;
}

/** Of each line: its words, and how often the text has them. */
function keysOf(lines) {
  const times = {};
  const words = lines.map(({ id }) => id.slice(0, 8));
  for (const each of words) times[each] = (times[each] ?? 0) + 1;
  return lines.map(({ id }, number) => `${id} ${times[words[number]]}`);
}

/** Gives each name once; case makes no difference to a server. */
function freeNames() {
  const taken = new Set();
  return (wanted) => {
    let name = wanted;
    for (let number = 2; taken.has(name.toLowerCase()); number += 1) name = `${wanted} ${number}`;
    taken.add(name.toLowerCase());
    return name;
  };
}
