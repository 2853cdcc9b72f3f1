// 16-bit samples, from streams and in WAV files.

const HEADER_BYTES = 44;
const RATE_AT = 24;

/** Converts bytes of 16-bit samples, in any pieces, to values between -1 and 1. */
export class PcmReader {
  #rest = new Uint8Array(0);

  push(bytes) {
    const all = new Uint8Array(this.#rest.length + bytes.length);
    all.set(this.#rest);
    all.set(bytes, this.#rest.length);
    const count = Math.floor(all.length / 2);
    this.#rest = all.slice(2 * count);
    return Float32Array.from(new Int16Array(all.buffer, 0, count), (sample) => sample / 32768);
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
