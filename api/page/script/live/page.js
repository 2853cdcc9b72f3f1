// Live speech: plays a text while it is made or written.

import { getJson } from "../api.js";
import { alerts, announce, button, h, replace, setHidden, setText } from "../dom.js";
import { languageField, readVoices, showProblem, voiceField } from "../jobs/compose/fields.js";
import { repeat } from "../repeating.js";
import { clock, count } from "../wording.js";
import { LivePlayer } from "./player.js";
import { OpenText, wholeText } from "./sources.js";

const SERVED_S = 300;
const ALONE_S = 3;
const LOOK_MS = 80;
const WHOLE_WORDS = /^[\s\S]*\s/;

export function openLive(main) {
  const heading = h("h1", { tabindex: "-1" }, "Live");
  const text = h("textarea", { id: "live-text", rows: 6, dir: "auto", maxlength: 4096, placeholder: "Write a text to speak.", on: { input: onText, keydown } });
  const voice = voiceField();
  const language = languageField();
  const speed = h("input", { id: "speed", type: "range", min: 0.5, max: 2, step: 0.05, value: 1, "aria-valuetext": "1.00 ×", on: { input: showPace } });
  const speedShown = h("span", { class: "counter", "aria-hidden": "true" }, "1.00 ×");
  const instructions = h("input", { id: "live-instructions", type: "text", maxlength: 2000, dir: "auto", placeholder: "Calm, slower" });
  const instructing = h("div", { class: "field", hidden: true }, h("label", { for: "live-instructions" }, "Speaking style"), instructions);
  const whileWriting = h("input", { type: "checkbox", id: "while-writing", on: { change: showAction } });
  const trouble = alerts();
  const note = h("p", { class: "hint", role: "status" });
  const level = h("meter", { class: "level", min: 0, max: 1, low: 0.02, high: 0.95, optimum: 0.4, "aria-label": "Level" });
  const first = h("dd", { class: "live-figure", id: "first-audio" }, "–");
  const heard = h("dd", { class: "live-figure", id: "heard" }, "0:00");
  const gaps = h("dd", { class: "live-figure", id: "gaps" }, "–");
  const action = h("button", { type: "submit", class: "primary large" }, "Speak");
  const stopper = button("Stop", stop, { kind: "large", disabled: true });
  const form = h("form", { class: "compose live", novalidate: true, on: { submit: act } },
    heading,
    h("label", { for: "live-text", class: "visually-hidden" }, "Text"),
    h("div", { class: "sheet" }, text, h("div", { class: "sheet-foot" },
      h("label", { class: "check" }, whileWriting, "Speak while I write"))),
    trouble,
    h("div", { class: "grid" }, voice.element, language.element,
      h("div", { class: "field" }, h("label", { for: "speed" }, "Speed"), h("div", { class: "inline-field" }, speed, speedShown)), instructing),
    h("div", { class: "row" }, action, stopper, note),
    level,
    h("dl", { class: "live-figures" },
      h("div", {}, h("dt", {}, "First audio"), first), h("div", {}, h("dt", {}, "Heard"), heard), h("div", {}, h("dt", {}, "Gaps"), gaps)));
  main.append(form);

  /** The current speech: `abort`, `player`, `begunMs`, and for text being written `open` and how much is `sent`. */
  let now = null;
  let isServed = false;
  const filler = repeat(fill, () => (isServed ? SERVED_S : ALONE_S));

  async function fill(signal) {
    const models = (await getJson("v1/models", { signal })).data.filter((model) => model.available);
    language.show(models);
    setHidden(instructing, !models.some((model) => model.accepts_instructions));
    voice.show(await readVoices(signal));
    isServed = models.length > 0;
  }

  function showPace() {
    setText(speedShown, `${Number(speed.value).toFixed(2)} ×`);
    speed.setAttribute("aria-valuetext", speedShown.textContent);
  }

  function options() {
    const said = { voice: voice.value() ?? undefined, language: language.value() };
    if (Number(speed.value) !== 1) said.speed = Number(speed.value);
    if (!instructing.hidden && instructions.value.trim()) said.instructions = instructions.value.trim();
    return said;
  }

  function keydown(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    if (event.key === "Escape") stop();
  }

  async function act(event) {
    event.preventDefault();
    if (now?.open) finishWriting();
    else if (now) stop();
    else await speak();
  }

  async function speak() {
    replace(trouble);
    if (!whileWriting.checked && !text.value.trim()) {
      showProblem(trouble, { message: "Write a text first." });
      text.focus();
      return;
    }
    const abort = new AbortController();
    const mine = { abort, player: new LivePlayer(), open: null, sent: "", isEnded: false, begunMs: whileWriting.checked ? null : performance.now() };
    now = mine;
    setText(first, "…");
    setText(gaps, "–");
    const timer = setInterval(() => show(mine), LOOK_MS);
    try {
      let isFirst = true;
      for await (const { samples, rate } of source(mine)) {
        if (abort.signal.aborted) break;
        if (isFirst) tellFirst((performance.now() - mine.begunMs) / 1000);
        isFirst = false;
        mine.player.take(samples, rate);
      }
      await mine.player.finish();
    } catch (error) {
      if (error.name !== "AbortError" && error.name !== "Problem") throw error;
      if (error.name === "Problem") showProblem(trouble, error);
    } finally {
      clearInterval(timer);
      await mine.player.stop();
      abort.abort();
      if (now === mine) over(mine);
    }
  }

  function source(mine) {
    const { signal } = mine.abort;
    showAction();
    if (!whileWriting.checked) return wholeText(text.value, options(), signal);
    mine.open = new OpenText(options(), signal);
    showAction();
    text.focus();
    writeOn(mine, WHOLE_WORDS.exec(text.value)?.[0] ?? "");
    return mine.open.chunks();
  }

  /** Spoken text cannot change. Only text after it is sent. */
  function writeOn(mine, words) {
    if (mine.isEnded || !words.startsWith(mine.sent) || words.length === mine.sent.length) return;
    mine.begunMs ??= performance.now();
    mine.open.write(words.slice(mine.sent.length));
    mine.sent = words;
  }

  function onText() {
    if (!now?.open) return;
    const isChanged = !text.value.startsWith(now.sent);
    setText(note, isChanged ? "Spoken words cannot be changed." : "A word is spoken after you type a space.");
    writeOn(now, WHOLE_WORDS.exec(text.value)?.[0] ?? "");
  }

  function finishWriting() {
    if (!text.value.trim()) {
      stop();
      return;
    }
    writeOn(now, text.value);
    now.isEnded = true;
    now.open.end();
    action.disabled = true;
  }

  function stop() {
    if (!now) return;
    const stopped = now;
    stopped.abort.abort();
    stopped.player.stop();
    over(stopped);
    announce("Stopped");
  }

  function over(ended) {
    show(ended);
    level.value = 0;
    if (ended.open?.findings.length) setText(note, `Found: ${ended.open.findings.join(", ").replaceAll("_", " ")}`);
    else setText(note, "");
    if (first.textContent === "…") setText(first, "–");
    now = null;
    showAction();
  }

  function tellFirst(seconds) {
    setText(first, `${seconds.toFixed(2)} s`);
    announce(`First audio after ${seconds.toFixed(2)} seconds`);
  }

  function show({ player }) {
    level.value = player.level;
    setText(heard, clock(player.position));
    setText(gaps, count(player.gaps));
  }

  function showAction() {
    const isWriting = Boolean(now?.open);
    setText(action, isWriting ? "Finish" : whileWriting.checked ? "Start" : "Speak");
    action.disabled = Boolean(now) && !isWriting;
    stopper.disabled = !now;
    whileWriting.disabled = Boolean(now);
    if (isWriting) setText(note, "A word is spoken after you type a space.");
  }

  return {
    go(_, { isFirst }) {
      document.title = "Live · Rhapsode";
      if (!isFirst) heading.focus();
    },
    close() {
      stop();
      filler.stop();
    },
  };
}
