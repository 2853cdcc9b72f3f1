"""The decoding process: a recording on standard input, a verdict and perhaps its samples on standard output.

    python -m worker.reference_audio facts|pcm < recording

Both ends are files. The verdict is one line of JSON; behind it, for `pcm`, float32 samples of the channels' mean.
"""

from __future__ import annotations

from worker.reference_audio.limits import close_the_doors, limit_resources

# Before numpy and the decoders are loaded: their memory counts too.
limit_resources()

import sys  # noqa: E402

from storage.recording_verdict import RecordingRefused, RefusalCode, verdict_line  # noqa: E402
from worker.reference_audio.decoding import decode  # noqa: E402


def main() -> None:
    wants_samples = {"facts": False, "pcm": True}[sys.argv[1]]
    close_the_doors()
    out = sys.stdout.buffer
    try:
        facts, pcm = decode(sys.stdin.fileno())
    except RecordingRefused as refused:
        out.write(verdict_line(refused))
    except MemoryError:
        out.write(verdict_line(RecordingRefused(RefusalCode.UNREADABLE, "the recording cannot be decoded")))
    else:
        out.write(verdict_line(facts))
        if wants_samples:
            out.write(pcm.tobytes())
    out.flush()


if __name__ == "__main__":
    main()
