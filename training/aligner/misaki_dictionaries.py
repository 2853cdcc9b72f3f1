"""Write the dictionaries of Kokoro's phones from misaki's wheel.

    pip download --no-deps misaki==0.9.4
    python -m training.aligner.misaki_dictionaries --wheel misaki-0.9.4-py3-none-any.whl \\
        --out worker/engine/kokoro/phones/dictionaries

A line is a word and its phones; the other ways to say a word follow, each with its tag. The lines are sorted by their
bytes, so that a word is found without reading the others. The same wheel gives the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import logging
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from training.steps import Unusable, run_step, step_parser
from worker.engine.kokoro.phones.dictionary import DEFAULT, Accent, dictionary_file

logger = logging.getLogger(__name__)

WHEEL_SHA256 = "90e2eeb169786c014c429e5058d2ea6bcd02d651f2a24450ba6c9ffc0f8da15a"
LICENCE = "misaki-0.9.4.dist-info/licenses/LICENSE"

Entry = str | Mapping[str, str | None]

_AS_THE_MODEL_HAS_THEM = str.maketrans({"ɾ": "T", "ʔ": "t"})


def main(argv: Sequence[str] | None = None) -> None:
    arguments = _parser().parse_args(argv)
    with open_wheel(arguments.wheel) as wheel:
        (arguments.out / "LICENSE").write_bytes(wheel.read(LICENCE))
        for accent in Accent:
            lines = dictionary_lines(entries(wheel, accent, "gold"), entries(wheel, accent, "silver"))
            packed = gzip.compress(b"".join(lines), 9, mtime=0)
            (arguments.out / dictionary_file(accent)).write_bytes(packed)
            logger.info("%s: %d words, %d bytes", accent, len(lines), len(packed))


def _parser() -> argparse.ArgumentParser:
    parser = step_parser(__doc__)
    parser.add_argument("--wheel", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    return parser


def open_wheel(path: Path) -> zipfile.ZipFile:
    if hashlib.sha256(path.read_bytes()).hexdigest() != WHEEL_SHA256:
        raise Unusable(f"{path} is not the wheel of misaki 0.9.4: its sha256 differs")
    return zipfile.ZipFile(path)


def entries(wheel: zipfile.ZipFile, accent: Accent, kind: Literal["gold", "silver"]) -> dict[str, Entry]:
    return json.loads(wheel.read(f"misaki/data/{accent}_{kind}.json").decode().translate(_AS_THE_MODEL_HAS_THEM))


def dictionary_lines(gold: Mapping[str, Entry], silver: Mapping[str, Entry]) -> list[bytes]:
    """Gold has been checked by people: silver adds the words that it lacks, but no genitives of known words."""
    stems = {word: word.removesuffix("'s") for word in silver}
    known = {word.lower() for word in gold}
    added = {word: entry for word, entry in silver.items() if word not in known and stems[word] not in known}
    return sorted(_line(word, entry).encode() for word, entry in {**gold, **added}.items())


def _line(word: str, entry: Entry) -> str:
    ways = {DEFAULT: entry} if isinstance(entry, str) else entry
    others = [f"{tag}={phones or ''}" for tag, phones in ways.items() if tag != DEFAULT]
    return "\t".join((word, ways[DEFAULT] or "", *others)) + "\n"


if __name__ == "__main__":
    run_step(main)
