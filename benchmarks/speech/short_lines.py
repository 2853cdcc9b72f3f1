"""What the basic gate says of lines of one to three words: false alarms, and planted faults that it finds.

    python -m benchmarks.speech.short_lines [--out FILE.json]

Six voices of Kokoro say the 300 lines of `short_lines.txt` in turn. The bounds of `worker/speech/quality/checks.py`
come from one half of them; the other half is reported too. Each fault is planted in each line of a half. Each share is
given without the look at sounds as well.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rig import ROOT, parser
from worker.engine.build import build_engine
from worker.engine.interface import BuiltInSpeaker, Pcm
from worker.engine.kokoro.phones import phones_of
from worker.engine.kokoro.voices import accent_of
from worker.engine.settings import KokoroEngineSettings
from worker.speech.quality.calibration.calibrate import Example, speak
from worker.speech.quality.calibration.calibration_file import FILE_NAME, Calibration, read_calibration
from worker.speech.quality.checks import SHORT_WORDS, basic_findings

KOKORO = ROOT / "worker/kokoro"
LINES = Path(__file__).with_name("short_lines.txt")
LANGUAGE = "english"
VOICES = ("af_heart", "am_michael", "bf_emma", "bm_fable", "af_nova", "am_onyx")
"""The calibration knows the first four; a voice of each other one has the bounds of all."""

BABBLE = (
    "The ferry leaves from the northern quay at ten past eight every morning.",
    "Under the bridge we found a box of letters tied with green string.",
    "He had always wanted a garden, but the city gave him only a balcony.",
    "Most of the visitors came by train and walked the last mile along the river.",
)
BABBLE_S = (0.4, 0.8, 1.2, 2.0)
FADE_S = 0.04
"""At either edge of a piece of other speech: it neither clicks nor breaks off."""

CUT_SHARE = 0.3
NOISE_DB, BURST_S = -10.0, 0.3

Lines = Sequence[Example]
Fault = Callable[[int, Lines, Mapping[str, Lines], np.random.Generator], Example | None]
"""Of the line with this number; None where it cannot have the fault."""


def babble(seconds: float, number: int, lines: Lines, other: Mapping[str, Lines], dice: np.random.Generator) -> Example:
    """Behind the line, from anywhere in other speech of its voice."""
    line = lines[number]
    return sounding(line, np.concatenate((line.speech.pcm, _piece(seconds, line, other, dice))))


def inserted(
    seconds: float, number: int, lines: Lines, other: Mapping[str, Lines], dice: np.random.Generator
) -> Example:
    line = lines[number]
    pcm, place = line.speech.pcm, int(dice.uniform(0.3, 0.7) * len(line.speech.pcm))
    return sounding(line, np.concatenate((pcm[:place], _piece(seconds, line, other, dice), pcm[place:])))


def _piece(seconds: float, line: Example, other: Mapping[str, Lines], dice: np.random.Generator) -> Pcm:
    speech = other[line.speaker][int(dice.integers(len(BABBLE)))].speech
    size = round(seconds * speech.sample_rate_hz)
    start = int(dice.integers(len(speech.pcm) - size))
    piece, ramp = speech.pcm[start : start + size].copy(), np.linspace(0, 1, round(FADE_S * speech.sample_rate_hz))
    piece[: len(ramp)] *= ramp
    piece[-len(ramp) :] *= ramp[::-1]
    return piece


def wrong_word(number: int, lines: Lines, other: Mapping[str, Lines], dice: np.random.Generator) -> Example:
    """The text has the word of another line in the place of one."""
    words = lines[number].text.split()
    place = int(dice.integers(len(words)))
    words[place] = _word(words[place], lines, dice)
    return meaning(lines[number], words)


def missing_word(number: int, lines: Lines, other: Mapping[str, Lines], dice: np.random.Generator) -> Example | None:
    """The text has one word more; a line of three words would be none of these."""
    words = lines[number].text.split()
    if len(words) == SHORT_WORDS:
        return None
    words.insert(int(dice.integers(len(words))), _word("", lines, dice))
    return meaning(lines[number], words)


def _word(but: str, lines: Lines, dice: np.random.Generator) -> str:
    while (found := str(dice.choice(lines[int(dice.integers(len(lines)))].text.split()))).strip(".,!?") in but:
        pass
    return found


def cut_end(number: int, lines: Lines, other: Mapping[str, Lines], dice: np.random.Generator) -> Example:
    pcm = lines[number].speech.pcm
    return sounding(lines[number], pcm[: round((1 - CUT_SHARE) * len(pcm))])


def noise(number: int, lines: Lines, other: Mapping[str, Lines], dice: np.random.Generator) -> Example:
    pcm = lines[number].speech.pcm
    return sounding(lines[number], pcm + _hiss(pcm, len(pcm), 10 ** (NOISE_DB / 20), dice))


def burst(number: int, lines: Lines, other: Mapping[str, Lines], dice: np.random.Generator) -> Example:
    """As loud as the line."""
    pcm = lines[number].speech.pcm.copy()
    size = round(BURST_S * lines[number].speech.sample_rate_hz)
    start = int(dice.integers(len(pcm) - size))
    pcm[start : start + size] += _hiss(pcm, size, 1.0, dice)
    return sounding(lines[number], pcm)


def _hiss(pcm: Pcm, size: int, share: float, dice: np.random.Generator) -> Pcm:
    return (dice.normal(size=size) * share * float(np.sqrt(np.square(pcm).mean()))).astype(np.float32)


FAULTS: dict[str, Fault] = {
    **{f"other speech of {seconds} s behind it": partial(babble, seconds) for seconds in BABBLE_S},
    **{f"other speech of {seconds} s inside it": partial(inserted, seconds) for seconds in BABBLE_S},
    "another word": wrong_word,
    "a missing word": missing_word,
    "the last 30 % cut off": cut_end,
    "noise of -10 dB": noise,
    "a burst of noise, 0.3 s": burst,
}


def sounding(line: Example, pcm: Pcm) -> Example:
    return replace(line, speech=replace(line.speech, pcm=pcm))


def meaning(line: Example, words: Sequence[str]) -> Example:
    """The same speech, which should have said these words."""
    text = " ".join(words)
    phones = phones_of(text, accent_of(line.speaker))
    return replace(line, text=text, speech=replace(line.speech, phones=phones))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    engine = build_engine(KokoroEngineSettings(KOKORO, 1))
    texts = LINES.read_text(encoding="utf-8").splitlines()
    voices = {name: BuiltInSpeaker(name) for name in VOICES}
    lines = [
        example
        for number, name in enumerate(VOICES)
        for example in speak(engine, texts[number :: len(VOICES)], LANGUAGE, {name: voices[name]})
    ]
    spoken = speak(engine, BABBLE, LANGUAGE, voices)
    engine.close()
    other = {name: [each for each in spoken if each.speaker == name] for name in VOICES}
    report = {"revision": engine.info.revision, **report_of(lines, other, read_calibration(KOKORO / FILE_NAME))}
    print_report(report)
    if given.out:
        given.out.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def report_of(lines: Lines, other: Mapping[str, Lines], calibration: Calibration) -> dict[str, object]:
    halves = {"bounds": lines[::2], "reported": lines[1::2]}
    began_s = time.process_time()
    for one in lines:
        found(one, calibration)
    with_sounds_s = time.process_time() - began_s
    for one in lines:
        found(one, calibration, sounds=False)
    without_s = time.process_time() - began_s - with_sounds_s
    return {
        "cpu_ms_a_line": round(1e3 * (with_sounds_s - without_s) / len(lines), 2),
        **{name: dict(half_report(half, other, calibration)) for name, half in halves.items()},
    }


def half_report(
    lines: Lines, other: Mapping[str, Lines], calibration: Calibration
) -> Iterator[tuple[str, dict[str, object]]]:
    yield "no fault", shares(lines, calibration)
    for name, fault in FAULTS.items():
        dice = np.random.default_rng(7)
        planted = [fault(number, lines, other, dice) for number in range(len(lines))]
        yield name, shares([each for each in planted if each], calibration)


def shares(lines: Lines, calibration: Calibration) -> dict[str, object]:
    kinds = [found(each, calibration) for each in lines]
    flagged = [each for each, these in zip(lines, kinds, strict=True) if these]
    return {
        "lines": len(lines),
        "flagged": len(flagged),
        "without_sounds": sum(bool(found(each, calibration, sounds=False)) for each in lines),
        "by": dict(Counter(kind for these in kinds for kind in these).most_common()),
        "texts": [f"{each.speaker}: {each.text}" for each in flagged] if len(flagged) < len(lines) / 10 else [],
    }


def found(one: Example, calibration: Calibration, *, sounds: bool = True) -> list[str]:
    speech = one.speech if sounds else replace(one.speech, phones="")
    findings = basic_findings(speech, one.text, calibration.bounds(LANGUAGE, one.speaker))
    return [each.defect.value for each in findings]


def print_report(report: Mapping[str, Any]) -> None:
    print(f"CPU of the look at sounds: {report['cpu_ms_a_line']} ms a line\n")
    print("| half | fault | lines | flagged | without sounds |\n|---|---|---:|---:|---:|")
    for half in ("bounds", "reported"):
        for name, row in report[half].items():
            count = row["lines"]
            print(f"| {half} | {name} | {count} | {row['flagged'] / count:.1%} | {row['without_sounds'] / count:.1%} |")


if __name__ == "__main__":
    main()
