// Playing a recording as it was uploaded.

let audio = null;

export function playRecording(blob) {
  if (audio) stopRecording();
  const url = URL.createObjectURL(blob);
  audio = new Audio(url);
  audio.addEventListener("ended", stopRecording);
  return audio.play();
}

export function stopRecording() {
  if (!audio) return;
  audio.pause();
  URL.revokeObjectURL(audio.src);
  audio = null;
}
