"""Decode damaged recordings in one process under the decoder's own limits; says on one line of JSON what came of it.

    python fuzz.py FOLDER NUM_FILES

FOLDER holds whole recordings. A crash ends this process, so that its status tells.
"""

from __future__ import annotations

import json
import random
import resource
import struct
import sys
import tempfile
from collections import Counter
from pathlib import Path

from storage.audio.recordings import RecordingRefused, sniff_container
from worker.voices.reference_audio.decoding import LIMITS, decode

LIES = (0, 1, 7, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)
HEADER_BYTES = 80


def main() -> None:
    folder, num_files = Path(sys.argv[1]), int(sys.argv[2])
    LIMITS.apply()
    recordings = [path.read_bytes() for path in sorted(folder.iterdir())]
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcomes: Counter[str] = Counter()
    for seed in range(num_files):
        outcomes[outcome(damaged(recordings[seed % len(recordings)], random.Random(seed)))] += 1
    after_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sys.stdout.write(json.dumps({"outcomes": outcomes, "grown_kb": after_kb - before_kb}))


def outcome(data: bytes) -> str:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        file.seek(0)
        try:
            sniff_container(data[:12])
            decode(file.fileno())
        except RecordingRefused as refused:
            return refused.code
    return "decoded"


def damaged(good: bytes, random: random.Random) -> bytes:
    data = bytearray(good)
    match random.randrange(5):
        case 0:  # single bits anywhere
            for _ in range(random.randint(1, 40)):
                data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        case 1:  # a header that lies about a size, a rate or a count
            at = random.randrange(4, HEADER_BYTES)
            data[at : at + 4] = struct.pack(random.choice(("<I", ">I")), random.choice(LIES))
        case 2:
            del data[random.randrange(len(data)) :]
        case 3:  # noise over a stretch
            at = random.randrange(len(data))
            data[at : at + 400] = random.randbytes(min(400, len(data) - at))
        case _:  # something else behind a good beginning
            data[random.randrange(4, HEADER_BYTES) :] = random.randbytes(4_000)
    return bytes(data)


if __name__ == "__main__":
    main()
