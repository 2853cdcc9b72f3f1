// 16-bit samples, from streams and in WAV files.

const HEADER_BYTES = 44;
const RATE_AT = 24;

/** Converts bytes of 16-bit samples, in any pieces, to values between -1 and 1. */
export class PcmReader {
  #rest = new Uint8Array(0);

  push(bytes) {
    const all = joined(this.#rest, bytes);
    const usable = all.length - (all.length % 2);
    this.#rest = all.slice(usable);
    return toFloat(new DataView(all.buffer, all.byteOffset, usable));
  }
}

/** The server's WAV file with this many seconds of silence added. */
export function withSilence(buffer, seconds) {
  const view = new DataView(buffer);
  const silent = new Uint8Array(2 * Math.round(seconds * view.getUint32(RATE_AT, true)));
  view.setUint32(4, buffer.byteLength + silent.length - 8, true);
  view.setUint32(HEADER_BYTES - 4, buffer.byteLength + silent.length - HEADER_BYTES, true);
  return new Blob([buffer, silent], { type: "audio/wav" });
}

function toFloat(view) {
  const samples = new Float32Array(view.byteLength / 2);
  for (let index = 0; index < samples.length; index += 1) samples[index] = view.getInt16(index * 2, true) / 32768;
  return samples;
}

function joined(first, second) {
  if (!first.length) return second;
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
