// Records the microphone, in the format of the browser.

import { levelMeter } from "../live/player.js";

const LONGEST_S = 58;
const LOOK_MS = 100;

/** Without the processing of phone calls. */
const WANTED = { audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false, channelCount: 1 } };

/**
 * Starts recording and stops before a minute is full. `onLevel(level, seconds)` gets the level (0 to 1) and the time.
 * Returns `stop()` and the promise of a `file`. Throws if no microphone can be used.
 */
export async function recorder(onLevel) {
  const stream = await navigator.mediaDevices.getUserMedia(WANTED);
  const media = new MediaRecorder(stream);
  const parts = [];
  const context = new AudioContext();
  const meter = levelMeter(context);
  context.createMediaStreamSource(stream).connect(meter.analyser);
  const begunMs = performance.now();
  const timer = setInterval(() => {
    const seconds = (performance.now() - begunMs) / 1000;
    onLevel(meter.level(), seconds);
    if (seconds >= LONGEST_S) stop();
  }, LOOK_MS);

  const file = new Promise((resolve, reject) => {
    media.addEventListener("dataavailable", (event) => parts.push(event.data));
    media.addEventListener("error", (event) => reject(event.error));
    media.addEventListener("stop", () => {
      clearInterval(timer);
      context.close();
      for (const track of stream.getTracks()) track.stop();
      resolve(new File(parts, "recording", { type: media.mimeType }));
    });
  });
  media.start();

  function stop() {
    if (media.state !== "inactive") media.stop();
  }

  return { stop, file };
}
