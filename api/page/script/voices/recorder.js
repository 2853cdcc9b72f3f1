// Records the microphone as WAV. Voices cannot be made from the formats that browsers record.

import { wavFile } from "../player/wav.js";

const RATE_HZ = 24_000;
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
  const meter = levelMeter(stream);
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
      meter.close();
      for (const track of stream.getTracks()) track.stop();
      decoded(new Blob(parts, { type: media.mimeType })).then(resolve, reject);
    });
  });
  media.start();

  function stop() {
    if (media.state !== "inactive") media.stop();
  }

  return { stop, file };
}

async function decoded(blob) {
  const context = new OfflineAudioContext(1, 1, RATE_HZ);
  const audio = await context.decodeAudioData(await blob.arrayBuffer());
  const samples = audio.getChannelData(0).slice();
  for (let channel = 1; channel < audio.numberOfChannels; channel += 1) {
    audio.getChannelData(channel).forEach((sample, index) => {
      samples[index] += sample;
    });
  }
  return wavFile(samples.map((sample) => sample / audio.numberOfChannels), RATE_HZ, "recording.wav");
}

function levelMeter(stream) {
  const context = new AudioContext();
  const analyser = new AnalyserNode(context, { fftSize: 2048 });
  context.createMediaStreamSource(stream).connect(analyser);
  const samples = new Float32Array(analyser.fftSize);
  return {
    level() {
      analyser.getFloatTimeDomainData(samples);
      return Math.min(1, samples.reduce((highest, sample) => Math.max(highest, Math.abs(sample)), 0));
    },
    close: () => context.close(),
  };
}
