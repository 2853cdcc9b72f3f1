"""The sound that a listener hears is the sound that was made: captured where the browser mixes it, and compared."""

from __future__ import annotations

import io

import numpy as np
import soundfile
from numpy.typing import NDArray
from playwright.sync_api import expect

from rhapsode import Rhapsode
from tests.page.conftest import OpenPage
from tests.page.test_passages import done

CAPTURE = """
window.captured = [];
const Element = window.Audio;
let context = null;
let tap = null;
const worklet = `registerProcessor("tap", class extends AudioWorkletProcessor {
  process([[heard]]) {
    if (heard) this.port.postMessage(heard.slice());
    return true;
  }
})`;
window.Audio = function (...given) {
  const element = new Element(...given);
  context ??= new AudioContext({ sampleRate: 24000 });
  const address = URL.createObjectURL(new Blob([worklet], { type: "text/javascript" }));
  tap ??= context.audioWorklet.addModule(address).then(() => {
    const node = new AudioWorkletNode(context, "tap");
    node.port.onmessage = ({ data }) => window.captured.push(...data);
    node.connect(context.destination);
    return node;
  });
  const source = context.createMediaElementSource(element);
  tap.then((node) => source.connect(node));
  return element;
};
"""
PIECE = 12_000
"""Samples compared at once, half a second: a busy machine may drop some between two."""
LEAST_LIKENESS = 0.98


def samples(file: bytes) -> NDArray[np.float32]:
    found, rate = soundfile.read(io.BytesIO(file), dtype="float32")
    assert rate == 24_000
    return np.asarray(found, dtype=np.float32)


def likeness(heard: NDArray[np.float32], piece: NDArray[np.float32]) -> float:
    """The highest normalised correlation of the piece with a place in what was heard."""
    size = 1 << (len(heard) + len(piece)).bit_length()
    num_places = len(heard) - len(piece)
    products = np.fft.irfft(np.fft.rfft(heard, size) * np.conj(np.fft.rfft(piece, size)), size)[:num_places]
    sums = np.cumsum(np.square(heard, dtype=np.float64))
    energies = sums[len(piece) :] - sums[:num_places]
    return float(np.max(products / np.sqrt(np.maximum(energies, 1e-9) * np.square(piece).sum())))


def test_what_is_played_is_what_was_made(open_page: OpenPage, client: Rhapsode) -> None:
    job = done(client)
    made, other = (samples(client.segments.audio(job.id, index)) for index in (0, 2))
    page = open_page(script=CAPTURE, bypass_csp=True)
    page.locator(".job-row a").first.click()
    page.get_by_role("button", name="Listen", exact=True).click()
    expect(page.locator(".segment").nth(1)).to_have_class("segment heard")
    page.get_by_role("button", name="Close the player").click()

    heard = np.array(page.evaluate("window.captured"), dtype=np.float32)

    pieces = [made[at : at + PIECE] for at in range(0, len(made) - PIECE + 1, PIECE)]
    assert pieces
    assert np.median([likeness(heard, each) for each in pieces]) > LEAST_LIKENESS
    # A passage that has not played yet is not in it.
    assert likeness(heard, other[:PIECE]) < LEAST_LIKENESS
