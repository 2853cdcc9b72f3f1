"""What the basic gate calls bad of everyday lines that neither training nor calibration saw, and what it catches.

    python benchmarks/speech/false_alarms.py [--checkpoint worker/small_voice] [--lines 634] [--as-written]

Speaks `everyday.txt` by every speaker of the checkpoint, numbers as words unless `--as-written`. An alarm is surely
false where the recogniser (Moonshine tiny) hears every word as it is written; it mishears a quarter of the single
words that are right, so the truth lies between that column and the alarms. Caught: of eight kinds of injected defects,
each once an utterance.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reading.segmenting.lengths import Segmentation
from tests.worker.speech.quality.defects import SPOILS
from worker.engine.interface import TextFrontEnd
from worker.engine.native import NativeEngine
from worker.engine.settings import NativeEngineSettings
from worker.speech.audio.speech_edges import finish_edges
from worker.speech.quality.calibration.calibrate import Example, as_spoken, speak
from worker.speech.quality.calibration.calibration_file import FILE_NAME, Calibration, read_calibration
from worker.speech.quality.checks import basic_findings
from worker.speech.quality.listening import spoken_words
from worker.speech.quality.recognisers.moonshine import MoonshineTiny
from worker.speech.quality.words.word_errors import word_errors

ROOT = Path(__file__).resolve().parents[2]
LINES = Path(__file__).with_name("everyday.txt")
LANGUAGE = "english"
LENGTHS = ((1, 3), (4, 8), (9, 15), (16, 30), (31, 99))
"""Of texts, in words: both ends belong to it."""


@dataclass(frozen=True, slots=True)
class Judged:
    """findings: their names. caught: by injected defect, whether anything was found."""

    example: Example
    findings: tuple[str, ...]
    is_heard_right: bool
    caught: dict[str, bool]

    @property
    def num_words(self) -> int:
        return len(self.example.text.split())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, default=ROOT / "worker/small_voice")
    parser.add_argument("--lines", type=int, help="spread evenly over all lengths; all by default")
    parser.add_argument("--as-written", action="store_true", help="digits as digits")
    arguments = parser.parse_args()
    every = LINES.read_text(encoding="utf-8").splitlines()
    wanted = min(arguments.lines or len(every), len(every))
    lines = [every[number] for number in np.linspace(0, len(every) - 1, wanted).round().astype(int)]
    front_end = TextFrontEnd.RAW if arguments.as_written else TextFrontEnd.WORDS
    texts = [text for line in lines for text in as_spoken(line, _whole(), LANGUAGE, front_end)]
    print_tables(judged(spoken(arguments.checkpoint, texts), read_calibration(arguments.checkpoint / FILE_NAME)))


def _whole() -> Segmentation:
    return Segmentation(1_000, 1_000)


def spoken(checkpoint: Path, texts: Sequence[str]) -> list[Example]:
    engine = NativeEngine(NativeEngineSettings(checkpoint, slots=16))
    try:
        return speak(engine, texts, LANGUAGE)
    finally:
        engine.close()


def judged(examples: Sequence[Example], calibration: Calibration) -> list[Judged]:
    dice, recogniser = np.random.default_rng(5), MoonshineTiny()
    return [_judged(example, calibration, recogniser, dice) for example in examples]


def _judged(example: Example, calibration: Calibration, recogniser: MoonshineTiny, dice: np.random.Generator) -> Judged:
    bounds = calibration.bounds(LANGUAGE, example.speaker)
    findings = basic_findings(example.speech, example.text, bounds)
    spoiled = {name: spoil(example.speech, dice) for name, spoil in SPOILS.items()}
    return Judged(
        example,
        tuple(finding.defect.value for finding in findings),
        bool(findings) and _is_heard_right(example, recogniser),
        {name: bool(basic_findings(speech, example.text, bounds)) for name, speech in spoiled.items()},
    )


def _is_heard_right(example: Example, recogniser: MoonshineTiny) -> bool:
    rate_hz = example.speech.sample_rate_hz
    heard = recogniser.transcribe(finish_edges(example.speech.pcm, rate_hz), rate_hz)
    return word_errors(example.text, heard, spoken_words).errors == 0


def print_tables(every: Sequence[Judged]) -> None:
    print("| words | speaker | utterances | alarms | of them surely false | findings | injected defects caught |")
    print("|---|---|---:|---:|---:|---|---:|")
    groups: dict[tuple[tuple[int, int], str], list[Judged]] = defaultdict(list)
    for one in every:
        length = next(each for each in LENGTHS if each[0] <= one.num_words <= each[1])
        groups[length, one.example.speaker].append(one)
    for (length, speaker), group in sorted(groups.items()):
        print(_row(f"{length[0]} to {length[1]}", speaker, group))
    print(_row("all", "", every))
    print("\n| injected | caught |\n|---|---:|")
    for name in SPOILS:
        print(f"| {name} | {np.mean([one.caught[name] for one in every]):.1%} |")


def _row(words: str, speaker: str, group: Sequence[Judged]) -> str:
    alarms = [one for one in group if one.findings]
    kinds = Counter(name for one in alarms for name in one.findings)
    named = ", ".join(f"{name} {count}" for name, count in kinds.most_common())
    caught = np.mean([found for one in group for found in one.caught.values()])
    false = sum(one.is_heard_right for one in alarms)
    share = len(alarms) / len(group)
    return f"| {words} | {speaker} | {len(group)} | {len(alarms)} ({share:.1%}) | {false} | {named} | {caught:.2%} |"


if __name__ == "__main__":
    main()
