// Plays a voice as live speech, alone. It creates no job and stores nothing.

import { announce, announceEnd, button, h, icon, replace } from "../dom.js";

const WORDS = "Here is how I sound. I read a story, a letter or the news, whatever you give me.";

let now = null;

export function stopSample() {
  now?.stop();
}

/** A button that plays and stops a few words. `order()`: `{voice, language, text}`. `onTrouble(problem)`: an error, or null at the start. */
export function sampleButton(label, order, onTrouble, properties = {}) {
  const element = button(label, press, { iconName: "play", ...properties });
  let mine = null;

  function press() {
    if (mine) mine.stop();
    else hear();
  }

  async function hear() {
    stopSample();
    onTrouble(null);
    const abort = new AbortController();
    let player = null;
    const sample = { stop: () => { abort.abort(); player?.stop(); } };
    [now, mine] = [sample, sample];
    draw();
    try {
      const [{ LivePlayer }, { wholeText }, { pausePlayer }, { stopRecording }] = await Promise.all(
        [import("../live/player.js"), import("../live/sources.js"), import("../player/player.js"), import("./recordings.js")]);
      abort.signal.throwIfAborted();
      pausePlayer();
      stopRecording();
      player = new LivePlayer();
      const { text = WORDS, ...spoken } = order();
      for await (const { samples, rate } of wholeText(text, spoken, abort.signal)) {
        if (abort.signal.aborted) break;
        player.take(samples, rate);
        draw("Stop");
      }
      await player.finish();
    } catch (error) {
      if (error.name === "Problem") onTrouble(error);
      else if (error.name !== "AbortError") throw error;
    } finally {
      await player?.stop();
      if (now === sample) now = null;
      if (mine === sample) mine = null;
      if (!now) announceEnd("Loading …", "Playing");
      draw();
    }
  }

  function draw(words = mine ? "Loading …" : label) {
    if (element.textContent === words) return;
    if (mine) announce(words === "Stop" ? "Playing" : words);
    replace(element, icon(mine ? "stop" : "play"), h("span", {}, words));
    if (properties["aria-label"]) element.setAttribute("aria-label", properties["aria-label"].replace(label, words));
  }

  return element;
}
