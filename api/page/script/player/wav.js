// 16-bit samples, from streams and as WAV files.

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

/** A WAV file (16 bits, mono) of samples between -1 and 1. */
export function wavFile(samples, rate, name) {
  const view = new DataView(new ArrayBuffer(HEADER_BYTES + samples.length * 2));
  write(view, 0, "RIFF");
  view.setUint32(4, view.byteLength - 8, true);
  write(view, 8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, rate * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  write(view, 36, "data");
  view.setUint32(40, samples.length * 2, true);
  samples.forEach((sample, index) => {
    const bounded = Math.max(-1, Math.min(1, sample));
    view.setInt16(HEADER_BYTES + index * 2, Math.round(bounded * 32767), true);
  });
  return new File([view.buffer], name, { type: "audio/wav" });
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

function write(view, at, text) {
  for (let place = 0; place < text.length; place += 1) view.setUint8(at + place, text.charCodeAt(place));
}
