// PCM in WAV: read from a stream whose length nobody knows yet, and written from what a microphone gave.

const HEADER_BYTES = 44;

/** Takes the bytes of a WAV file (16 bits, mono) as they come and gives back samples between -1 and 1. */
export class WavReader {
  #rest = new Uint8Array(0);
  #rate = null;
  #isOpen = false;

  /** Of the file, in Hz; null until its header is there. */
  get rate() {
    return this.#rate;
  }

  /** The samples that are complete with these bytes. */
  push(bytes) {
    const all = joined(this.#rest, bytes);
    const start = this.#isOpen ? 0 : this.#readHeader(all);
    if (start === null) {
      this.#rest = all;
      return new Float32Array(0);
    }
    this.#isOpen = true;
    const usable = all.length - ((all.length - start) % 2);
    this.#rest = all.slice(usable);
    return toFloat(new DataView(all.buffer, all.byteOffset + start, usable - start));
  }

  /** Where the samples begin; null while the header is not whole. */
  #readHeader(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    if (bytes.length >= 12 && (tag(view, 0) !== "RIFF" || tag(view, 8) !== "WAVE")) throw new Error("not a WAV file");
    for (let at = 12; at + 8 <= bytes.length; ) {
      const size = view.getUint32(at + 4, true);
      if (tag(view, at) === "data") return at + 8;
      if (at + 8 + size > bytes.length) return null;
      if (tag(view, at) === "fmt ") this.#readFormat(view, at + 8);
      at += 8 + size + (size % 2);
    }
    return null;
  }

  #readFormat(view, at) {
    const [kind, channels, bits] = [view.getUint16(at, true), view.getUint16(at + 2, true), view.getUint16(at + 14, true)];
    if (kind !== 1 || channels !== 1 || bits !== 16) throw new Error("not 16-bit mono PCM");
    this.#rate = view.getUint32(at + 4, true);
  }
}

/** Takes 16-bit samples as bytes, in any pieces, and gives them back between -1 and 1. */
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

function tag(view, at) {
  return String.fromCharCode(...[0, 1, 2, 3].map((place) => view.getUint8(at + place)));
}

function write(view, at, text) {
  for (let place = 0; place < text.length; place += 1) view.setUint8(at + place, text.charCodeAt(place));
}
