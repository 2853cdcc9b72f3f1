"""The fork server of processes that decode: a recording on standard input, a verdict and perhaps samples on standard
output.

    python -m worker.voices.reference_audio    (started by `storage.audio.recordings`)

A child has one argument, `facts` or `pcm`. Its verdict is one line of JSON; after it, for `pcm`, float32 samples of
the channels' mean.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from contextlib import suppress

from storage.audio.recording_verdict import RATES_HZ, RecordingRefused, RefusalCode, verdict_line
from storage.audio.wav import wav_header
from storage.runtime.fork_server.server import serve
from worker.voices.reference_audio.decoding import LIMITS, decode


def answer(arguments: Sequence[str]) -> None:
    (wanted,) = arguments
    wants_samples = {"facts": False, "pcm": True}[wanted]
    out = sys.stdout.buffer
    try:
        facts, blocks = decode(sys.stdin.fileno())
    except RecordingRefused as refused:
        out.write(verdict_line(refused))
    except MemoryError:
        out.write(verdict_line(RecordingRefused(RefusalCode.UNREADABLE, "the recording cannot be decoded")))
    else:
        out.write(verdict_line(facts))
        if wants_samples:
            out.writelines(block.tobytes() for block in blocks)


def load_everything() -> None:
    """What FFmpeg's bindings import at first use: a child can open no file."""
    with suppress(RecordingRefused):
        decode(io.BytesIO(wav_header(0, RATES_HZ.start) + bytes(2 * RATES_HZ.start)))


if __name__ == "__main__":
    load_everything()
    serve(answer, LIMITS)
