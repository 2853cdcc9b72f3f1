"""Add the words of the CMU dictionary, most of them names, that the dictionaries of Kokoro's phones lack.

    git clone https://github.com/cmusphinx/cmudict
    python -m training.aligner.cmu_words --cmu cmudict/cmudict.dict --out worker/engine/kokoro/phones/dictionaries

`--out` holds the files of `training.aligner.misaki_dictionaries`. The sounds are American. British ones are derived
from them: no r before a consonant, and the vowels of that accent. The same files give the same bytes. Of words that
both have, 81 % are said alike in the American dictionary and 71 % in the British one, weak vowels and second stress
aside. The network guesses 34 % of the words that are added as the CMU dictionary has them.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from training.steps import Unusable, run_step, step_parser
from worker.engine.kokoro.phones.dictionary import Accent, dictionary_file
from worker.engine.kokoro.phones.unknown_words import PRIMARY, SECONDARY
from worker.engine.kokoro.phones.words import known_ways, spelled

logger = logging.getLogger(__name__)

CMU_SHA256 = "81917843c7f44ce2b094ac63873c2c7a4cf802040792c455ba3ca406891c3d22"
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_NO_STRESS = str.maketrans("", "", PRIMARY + SECONDARY)
_LONG_O = re.compile("[uw]")
"""In a word with one of these, British speakers say the vowel of `law` rather than that of `lot`."""
_STRESS = {"": "", "0": "", "1": PRIMARY, "2": SECONDARY}
_SOUNDS = """
B:b CH:ʧ D:d DH:ð F:f G:ɡ HH:h JH:ʤ K:k L:l M:m N:n NG:ŋ P:p R:ɹ S:s SH:ʃ T:t TH:θ V:v W:w Y:j Z:z ZH:ʒ
AA:ɑ AE:æ AH:ʌ AO:ɔ AW:W AY:I EH:ɛ ER:ɜɹ EY:A IH:ɪ IY:i OW:O OY:Y UH:ʊ UW:u
"""
_AMERICAN = {name: said for name, _, said in (pair.partition(":") for pair in _SOUNDS.split())}
_BRITISH = _AMERICAN | {"AA": "ɑː", "AE": "a", "AO": "ɔː", "ER": "ɜː", "IY": "iː", "OW": "Q", "UW": "uː"}
_BEFORE_R = {"IH": "ɪə", "IY": "ɪə", "EH": "ɛː", "EY": "ɛː", "UH": "ʊə", "UW": "ʊə", "AY": "Iə", "AW": "Wə"}
"""British vowels with the r that follows them, which is silent itself."""


class Sound(NamedTuple):
    """name: as the CMU dictionary has it. stress: 0, 1 or 2 of a vowel, empty for a consonant."""

    name: str
    stress: str


NO_SOUND = Sound("", "")


def main(argv: Sequence[str] | None = None) -> None:
    arguments = _parser().parse_args(argv)
    words = cmu_words(arguments.cmu.read_bytes())
    for accent in Accent:
        path = arguments.out / dictionary_file(accent)
        before = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
        added = [f"{word}\t{said}\n".encode() for word, said in _lacking(words, accent)]
        path.write_bytes(gzip.compress(b"".join(sorted({*before, *added})), 9, mtime=0))
        logger.info("%s: %d words were added to %d", accent, len(added), len(before))


def _parser() -> argparse.ArgumentParser:
    parser = step_parser(__doc__)
    parser.add_argument("--cmu", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    return parser


def cmu_words(data: bytes) -> dict[str, tuple[Sound, ...]]:
    """The first way of each word that is written in letters."""
    if hashlib.sha256(data).hexdigest() != CMU_SHA256:
        raise Unusable("this is not the CMU dictionary of 2024-12-17: its sha256 differs")
    lines = (line.partition(b"#")[0].decode().split() for line in data.splitlines())
    return {word: tuple(_sound(each) for each in sounds) for word, *sounds in lines if _WORD.fullmatch(word)}


def _sound(written: str) -> Sound:
    return Sound(written[:-1], written[-1]) if written[-1].isdigit() else Sound(written, "")


def _lacking(words: Mapping[str, Sequence[Sound]], accent: Accent) -> Iterator[tuple[str, str]]:
    """Words that neither the dictionary nor a known stem says, and their phones; no letters' names."""
    for word, sounds in words.items():
        if not word.endswith("'s") and known_ways(word, accent) is None:
            said = phones(word, sounds, accent)
            if said.translate(_NO_STRESS) != spelled(word, accent).translate(_NO_STRESS):
                yield word, said


def phones(word: str, sounds: Sequence[Sound], accent: Accent) -> str:
    """In Kokoro's alphabet."""
    around = zip((NO_SOUND, *sounds), sounds, (*sounds[1:], NO_SOUND), (*sounds[2:], NO_SOUND, NO_SOUND), strict=False)
    said = (
        _vowel(word, before, sound, after, behind, accent)
        if sound.stress
        else _consonant(before, sound, after, behind, accent)
        for before, sound, after, behind in around
    )
    return "".join(said)


def _consonant(before: Sound, sound: Sound, after: Sound, behind: Sound, accent: Accent) -> str:
    if accent is Accent.BRITISH:
        return "" if sound.name == "R" and not after.stress else _AMERICAN[sound.name]
    is_between = (before.stress or before.name == "R") and after.stress == "0"
    return "T" if sound.name == "T" and is_between and behind.name != "N" else _AMERICAN[sound.name]


def _vowel(word: str, before: Sound, sound: Sound, after: Sound, behind: Sound, accent: Accent) -> str:
    name, mark, is_british = sound.name, _STRESS[sound.stress], accent is Accent.BRITISH
    if sound.stress == "0" and name in ("AH", "IY"):
        return "i" if name == "IY" else "ᵊ" if _is_swallowed(before, after, behind) else "ə"
    if name == "ER":
        vowel = "ə" if sound.stress == "0" else f"{mark}ɜː" if is_british else f"{mark}ɜ"
        return vowel if is_british and not after.stress else f"{vowel}ɹ"
    if is_british and after.name == "R" and not behind.stress and name in _BEFORE_R:
        return mark + _BEFORE_R[name]
    if is_british and name in ("AA", "AO") and after.name != "R" and "o" in word and not _LONG_O.search(word):
        return f"{mark}ɒ"
    return mark + (_BRITISH if is_british else _AMERICAN)[name]


def _is_swallowed(before: Sound, after: Sound, behind: Sound) -> bool:
    """Whether a weak vowel is part of the l or n after it: little, Emerson."""
    if behind.stress or before.stress:
        return False
    return (
        before.name in {*"TDSZ"} if after.name == "N" else after.name == "L" and before.name not in ("", "R", "W", "Y")
    )


if __name__ == "__main__":
    run_step(main)
