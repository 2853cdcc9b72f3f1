// Playing a recording: one as it was uploaded, or one take of a passage.

import { pausePlayer } from "../player/player.js";

let audio = null;
let tellOver = () => {};

/** Play it to its end: whether that came before it was stopped. The narration pauses. */
export async function hearRecording(blob) {
  pausePlayer();
  stopRecording();
  const over = new Promise((resolve) => {
    tellOver = resolve;
  });
  audio = new Audio(URL.createObjectURL(blob));
  audio.addEventListener("ended", () => end(true));
  await audio.play();
  return over;
}

export function stopRecording() {
  end(false);
}

function end(isHeard) {
  if (!audio) return;
  audio.pause();
  URL.revokeObjectURL(audio.src);
  audio = null;
  tellOver(isHeard);
  tellOver = () => {};
}
