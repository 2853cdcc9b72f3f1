// Playing a recording: one as it was uploaded, or one take of a passage.

let audio = null;
let tellOver = () => {};

/** Play it to its end: whether that came before it was stopped. */
export async function hearRecording(blob) {
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
