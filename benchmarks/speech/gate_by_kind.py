"""What the quality gate catches of each kind of bad speech, and how often it calls good speech bad.

    python benchmarks/speech/gate_by_kind.py [--checkpoint worker/small_voice] [--lines 160] [--reference FILE.wav ...]
                                             [--speech FOLDER] [--heard 200]

Speaks lines that made neither rule nor bound by every speaker of the checkpoint and by a clone of every `--reference`;
`--speech` keeps what was spoken for the next run. Each utterance of a built-in speaker that passes is then damaged in
every kind and strength of `benchmarks/speech/probes`. "Before" is the gate without what it knows of how the checkpoint
sounds. Words are probed in `--heard` utterances that a recogniser reads back: the text has a word that speech lacks.
"""

from __future__ import annotations

import argparse
import pickle
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import soundfile

from benchmarks.speech.probes import content, sounds
from benchmarks.speech.probes.given import Given, Probe
from reading.segmenting.lengths import Segmentation
from worker.engine.interface import BuiltInSpeaker, Conditioning, Engine, ReferenceAudio, TextFrontEnd
from worker.engine.native import NativeEngine
from worker.engine.settings import NativeEngineSettings
from worker.speech.quality.calibration.calibrate import Example, as_spoken, speak
from worker.speech.quality.calibration.calibration_file import FILE_NAME, Calibration, read_calibration
from worker.speech.quality.checks import basic_findings
from worker.speech.quality.findings import Finding
from worker.speech.quality.listening import RecogniserPool, compared, word_findings
from worker.speech.quality.recognisers.moonshine import MoonshineTiny
from worker.speech.quality.words.word_errors import word_errors

ROOT = Path(__file__).resolve().parents[2]
LINES = (Path(__file__).with_name("everyday.txt"), ROOT / "tests/listening/unseen_sentences.txt")
LANGUAGE = "english"
LENGTHS = ((1, 3), (4, 8), (9, 15), (16, 99))
"""Of texts, in words: both ends belong to it."""

Found = Callable[[Example], Sequence[Finding]]


@dataclass(frozen=True, slots=True)
class Heard:
    """An utterance with what a recogniser reads in it."""

    given: Given
    words: str

    def findings(self, text: str) -> list[Finding]:
        return word_findings(compared(text, self.words, LANGUAGE))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, default=ROOT / "worker/small_voice")
    parser.add_argument("--lines", type=int, default=160, help="spread evenly over both files and all lengths")
    parser.add_argument("--reference", type=Path, action="append", default=[])
    parser.add_argument("--speech", type=Path, help="a folder of yours; what is in it is unpickled")
    parser.add_argument("--heard", type=int, default=200, help="utterances that are read back")
    arguments = parser.parse_args()
    examples = _spoken(arguments)
    calibration = read_calibration(arguments.checkpoint / FILE_NAME)
    print_false_alarms(examples, calibration)
    print_alarms(examples, calibration)
    passing = [each for each in given(examples) if not _now(calibration)(each.example)]
    print_kinds(passing, calibration)
    spread = np.linspace(0, len(passing) - 1, min(arguments.heard, len(passing))).astype(int)
    print_words(listened([passing[number] for number in spread]))


def _spoken(arguments: argparse.Namespace) -> list[Example]:
    kept = arguments.speech / "held_out.pickle" if arguments.speech else None
    if kept and kept.is_file():
        return pickle.loads(kept.read_bytes())  # noqa: S301  # written below, into a folder of the caller's
    every = [line for path in LINES for line in path.read_text(encoding="utf-8").splitlines()]
    lines = [every[number] for number in np.linspace(0, len(every) - 1, min(arguments.lines, len(every))).astype(int)]
    whole = Segmentation(1_000, 1_000)
    texts = [text for line in lines for text in as_spoken(line, whole, LANGUAGE, TextFrontEnd.WORDS)]
    engine = NativeEngine(NativeEngineSettings(arguments.checkpoint, slots=16))
    try:
        examples = speak(engine, texts, LANGUAGE, _speakers(engine, arguments.reference))
    finally:
        engine.close()
    if kept:
        kept.write_bytes(pickle.dumps(examples))
    return examples


def _speakers(engine: Engine, references: Iterable[Path]) -> dict[str, Conditioning]:
    speakers: dict[str, Conditioning] = {name: BuiltInSpeaker(name) for name in engine.info.speakers}
    for path in references:
        pcm, rate_hz = soundfile.read(path, dtype="float32", always_2d=True)
        clone = engine.encode_voice(ReferenceAudio(pcm.mean(axis=1)[: 8 * rate_hz], rate_hz))
        speakers[f"clone of {path.stem}"] = clone.result()
    return speakers


def given(examples: Sequence[Example]) -> list[Given]:
    """Of built-in speakers, each with the same text by the next speaker, and another text by its own."""
    by_text: dict[str, dict[str, Example]] = defaultdict(dict)
    for one in examples:
        if not one.speaker.startswith("clone"):
            by_text[one.text][one.speaker] = one
    texts = [text for text, voices in by_text.items() if len(voices) > 1]
    found: list[Given] = []
    for number, text in enumerate(texts):
        voices = by_text[text]
        names = sorted(voices)
        # Half of the texts away, so that it is of another length as well.
        other = by_text[texts[(number + len(texts) // 2) % len(texts)]]
        found += [
            Given(voices[name], voices[names[(place + 1) % len(names)]], other[name])
            for place, name in enumerate(names)
            if name in other
        ]
    return found


def _now(calibration: Calibration) -> Found:
    return lambda one: basic_findings(one.speech, one.text, calibration.bounds(LANGUAGE, one.speaker))


def _before(calibration: Calibration) -> Found:
    """Without what is known of how speech sounds."""
    silent = replace(calibration.languages[LANGUAGE], sound=None, voices={})
    return _now(replace(calibration, languages={LANGUAGE: silent}))


def print_false_alarms(examples: Sequence[Example], calibration: Calibration) -> None:
    print("| words | speaker | utterances | alarms before | alarms | findings |\n|---|---|---:|---:|---:|---|")
    groups: dict[tuple[str, str], list[Example]] = defaultdict(list)
    for one in examples:
        count = len(one.text.split())
        low, high = next(each for each in LENGTHS if each[0] <= count <= each[1])
        groups[f"{low} to {high}", one.speaker].append(one)
        groups["all", one.speaker].append(one)
        groups["all", "all"].append(one)
    for (words, speaker), group in groups.items():
        before = sum(bool(_before(calibration)(one)) for one in group)
        found = [findings for one in group if (findings := _now(calibration)(one))]
        kinds = Counter(each.defect.value for findings in found for each in findings)
        named = ", ".join(f"{name} {count}" for name, count in kinds.most_common())
        share = len(found) / len(group)
        print(f"| {words} | {speaker} | {len(group)} | {before} | {len(found)} ({share:.2%}) | {named} |")


def print_alarms(examples: Sequence[Example], calibration: Calibration) -> None:
    """Each by itself, with what a recogniser reads: speech that goes on behind its text is no false alarm."""
    recogniser = RecogniserPool(MoonshineTiny)
    print("\n| speaker | text | read back | found |\n|---|---|---|---|")
    for one in examples:
        if findings := _now(calibration)(one):
            named = ", ".join(f"{each.defect.value} {each.measured:.2f} ({each.bound:.2f})" for each in findings)
            print(f"| {one.speaker} | {one.text} | {recogniser.transcribe(one.speech)} | {named} |")


def print_kinds(probed: Sequence[Given], calibration: Calibration) -> None:
    print("\n| kind | strength | caught before | caught | by |\n|---|---|---:|---:|---|")
    before, now = _before(calibration), _now(calibration)
    for probe in (*content.PROBES, *sounds.PROBES):
        for strength in probe.strengths:
            dice = np.random.default_rng(7)
            spoiled = [probe.damage(each, strength, dice) for each in probed]
            old = np.mean([bool(before(one)) for one in spoiled])
            found = [now(one) for one in spoiled]
            kinds = Counter(findings[0].defect.value for findings in found if findings)
            named = ", ".join(name for name, _ in kinds.most_common(3))
            new = np.mean([bool(findings) for findings in found])
            print(f"| {probe.name} | {strength:g} {probe.unit} | {old:.1%} | {new:.1%} | {named} |", flush=True)


def listened(probed: Iterable[Given]) -> list[Heard]:
    pool = RecogniserPool(MoonshineTiny)
    return [Heard(each, pool.transcribe(each.example.speech)) for each in probed if content.is_long_enough(each)]


def print_words(heard: Sequence[Heard]) -> None:
    alarms = sum(bool(one.findings(one.given.example.text)) for one in heard)
    errors = [word_errors(one.given.example.text, one.words) for one in heard]
    rate = sum(each.errors for each in errors) / sum(each.words for each in errors)
    print(f"\nread back: {len(heard)} utterances, word errors {rate:.1%}, alarms {alarms} ({alarms / len(heard):.2%})")
    right = [one for one, each in zip(heard, errors, strict=True) if not each.errors]
    print("\n| with the recogniser | utterances | caught | where it reads all right |\n|---|---:|---:|---:|")
    for probe in content.WORD_PROBES:
        count, share = _caught(probe, heard)
        print(f"| {probe.name} | {count} | {share:.1%} | {_caught(probe, right)[1]:.1%} |")


def _caught(probe: Probe, heard: Sequence[Heard]) -> tuple[int, float]:
    """Of how many utterances whose text the probe changes, and their share."""
    dice = np.random.default_rng(7)
    texts = [probe.damage(one.given, probe.strengths[0], dice).text for one in heard]
    changed = [(one, text) for one, text in zip(heard, texts, strict=True) if text != one.given.example.text]
    return len(changed), float(np.mean([bool(one.findings(text)) for one, text in changed]))


if __name__ == "__main__":
    main()
