"""What the quality gate costs, how often it calls good speech bad, and what it catches of each kind of bad speech.

    python benchmarks/speech/quality_gate.py [--checkpoint worker/small_voice] [--lines 160] [--as-written]
    python benchmarks/speech/quality_gate.py --checkpoint worker/kokoro --voice af_heart --voice am_michael

Cost is CPU of a segment, beside a product of fixed size in turns with it. Then speakers of the checkpoint say lines
that made neither rule nor bound, numbers as words unless `--as-written`. An alarm is surely false where the recogniser
(Moonshine tiny) hears every word as it is written; it mishears a quarter of the single words that are right, so the
truth lies between that column and the alarms. What passes is damaged in every kind and strength of
`tests/worker/speech/quality/probes`. With the recogniser, the text has a word that the speech lacks.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import soundfile

from benchmarks.rig import ROOT, SMALL_VOICE, parser
from benchmarks.speech.voice_quality import engine_settings
from reading.segmenting.lengths import LengthRules
from rhapsode.contract.jobs.quality import Gate
from tests.worker.speech.quality.probes import content, sounds
from tests.worker.speech.quality.probes.given import Given
from worker.engine.build import build_engine
from worker.engine.interface import BuiltInSpeaker, FinishReason, Speech, TextFrontEnd
from worker.speech.quality.calibration.calibrate import Example, as_spoken, speak
from worker.speech.quality.calibration.calibration_file import FILE_NAME, Calibration, read_calibration
from worker.speech.quality.checks import basic_findings
from worker.speech.quality.findings import SpeechFinding
from worker.speech.quality.gate import QualityGate
from worker.speech.quality.listening import RecogniserPool, compared, spoken_words, word_findings
from worker.speech.quality.recognisers.moonshine import MoonshineTiny
from worker.speech.quality.verdict import JudgedUtterance, measured_verdict
from worker.speech.quality.words.word_errors import word_errors

LINES = (Path(__file__).with_name("everyday.txt"), ROOT / "tests/listening/unseen_sentences.txt")
LANGUAGE = "english"
LENGTHS = ((1, 3), (4, 8), (9, 15), (16, 30), (31, 99))
"""Of texts, in words: both ends belong to it."""

RATE_HZ, SAMPLES_PER_FRAME, NUM_CODEBOOKS = 24_000, 1_920, 16
SECONDS = (5, 10, 15)
ROUNDS = 40
TEXT = "Nobody had told her about the bridge; she had walked from the mill, and the tide was high. " * 3
YARDSTICK = np.random.default_rng(0).normal(size=(256, 256)).astype(np.float32)

Judge = Callable[[Example], Sequence[SpeechFinding]]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--checkpoint", type=Path, default=SMALL_VOICE)
    options.add_argument("--voice", action="append", help="one of the checkpoint's; at least two; default: all")
    options.add_argument("--lines", type=int, default=160, help="spread evenly over all lengths")
    options.add_argument("--as-written", action="store_true", help="digits as digits")
    options.add_argument("--heard", type=int, default=100, help="utterances that are read back")
    given = options.parse_args()
    calibration, pool = read_calibration(given.checkpoint / FILE_NAME), RecogniserPool(MoonshineTiny)
    print_cost(calibration, pool)
    every = [line for path in LINES for line in path.read_text(encoding="utf-8").splitlines()]
    lines = [every[number] for number in np.linspace(0, len(every) - 1, min(given.lines, len(every))).astype(int)]
    front_end = TextFrontEnd.RAW if given.as_written else TextFrontEnd.WORDS
    whole = LengthRules(1_000, 1_000)
    texts = [text for line in lines for text in as_spoken(line, whole, LANGUAGE, front_end)]
    engine = build_engine(engine_settings(given.checkpoint))
    examples = speak(engine, texts, LANGUAGE, {name: BuiltInSpeaker(name) for name in given.voice or ()})
    engine.close()
    judge: Judge = lambda one: basic_findings(one.speech, one.text, calibration.bounds(LANGUAGE, one.speaker))  # noqa: E731
    print_alarms(examples, judge, pool)
    passing = [each for each in givens(examples) if not judge(each.example)]
    print_kinds(passing, judge)
    spread = np.linspace(0, len(passing) - 1, min(given.heard, len(passing))).astype(int)
    print_words([each for number in spread if content.is_long_enough(each := passing[number])], pool)


def print_cost(calibration: Calibration, pool: RecogniserPool) -> None:
    gate = QualityGate(calibration, {}, measured_verdict)
    print("| cost | audio s | CPU ms | yardsticks |\n|---|---:|---:|---:|")
    for seconds in SECONDS:
        utterance = JudgedUtterance(sample_speech(seconds), TEXT[: 15 * seconds], "slt", LANGUAGE)
        judged = partial(gate.judge, utterance, Gate.BASIC, None)
        spent = [(cpu_s(judged), cpu_s(yardstick)) for _ in range(ROUNDS)]
        cost_s, yardstick_s = (statistics.median(column) for column in zip(*spent, strict=True))
        print(f"| basic gate | {seconds} | {cost_s * 1e3:.2f} | {cost_s / yardstick_s:.1f} |")
    heard = partial(pool.transcribe, sample_speech(10))
    heard()
    print(f"| recogniser | 10 | {1e3 * statistics.median(cpu_s(heard) for _ in range(5)):.0f} | |\n")


def yardstick() -> None:
    """A fifth of a millisecond on an idle core of the machine that the page of benchmarks is of."""
    spectra = np.fft.rfft(YARDSTICK, axis=1)
    np.sort(np.square(spectra.real) + np.square(spectra.imag), axis=1)


def sample_speech(seconds: int) -> Speech:
    """A sentence of the small voice as often as it takes, and codec frames that hardly repeat, as those of speech."""
    sentence, _ = soundfile.read(SMALL_VOICE / "samples" / "moon-slt.wav", dtype="float32")
    num_frames = seconds * RATE_HZ // SAMPLES_PER_FRAME
    frames = np.random.default_rng(seconds).integers(0, 2_048, (num_frames, NUM_CODEBOOKS), dtype=np.int16)
    pcm = np.resize(np.asarray(sentence, np.float32), seconds * RATE_HZ)
    return Speech(pcm, frames, RATE_HZ, FinishReason.EOS, 0.0)


def cpu_s(call: Callable[[], object]) -> float:
    begun_s = time.process_time()
    call()
    return time.process_time() - begun_s


def print_alarms(examples: Sequence[Example], judge: Judge, pool: RecogniserPool) -> None:
    """By length and speaker, then each by itself: speech that goes on behind its text is no false alarm."""
    groups: dict[tuple[str, str], list[Example]] = defaultdict(list)
    for one in examples:
        count = len(one.text.split())
        low, high = next(each for each in LENGTHS if each[0] <= count <= each[1])
        for key in ((f"{low} to {high}", one.speaker), ("all", one.speaker), ("all", "all")):
            groups[key].append(one)
    heard = {id(one): pool.transcribe(one.speech) for one in examples if judge(one)}
    print("| words | speaker | utterances | alarms | surely false | findings |\n|---|---|---:|---:|---:|---|")
    for (words, speaker), group in sorted(groups.items()):
        alarms = [one for one in group if id(one) in heard]
        kinds = Counter(found.defect.value for one in alarms for found in judge(one))
        false = sum(word_errors(one.text, heard[id(one)], spoken_words).errors == 0 for one in alarms)
        share = f"{len(alarms)} ({len(alarms) / len(group):.2%})"
        print(f"| {words} | {speaker} | {len(group)} | {share} | {false} | {named(kinds)} |")
    print("\n| speaker | text | read back | found |\n|---|---|---|---|")
    for one in examples:
        if id(one) in heard:
            found = ", ".join(f"{each.defect.value} {each.measured:.2f} ({each.bound:.2f})" for each in judge(one))
            print(f"| {one.speaker} | {one.text} | {heard[id(one)]} | {found} |")


def givens(examples: Sequence[Example]) -> list[Given]:
    """Each with the same text by the next speaker, and another text by its own."""
    by_text: dict[str, dict[str, Example]] = defaultdict(dict)
    for one in examples:
        by_text[one.text][one.speaker] = one
    texts = [text for text, voices in by_text.items() if len(voices) > 1]
    found: list[Given] = []
    for number, text in enumerate(texts):
        names = sorted(voices := by_text[text])
        # Half of the texts away, so that it is of another length as well.
        other = by_text[texts[(number + len(texts) // 2) % len(texts)]]
        nexts = dict(zip(names, [*names[1:], names[0]], strict=True))
        found += [Given(voices[name], voices[nexts[name]], other[name]) for name in names if name in other]
    return found


def print_kinds(probed: Sequence[Given], judge: Judge) -> None:
    print("\n| kind | strength | caught | by |\n|---|---|---:|---|")
    for probe in (*content.PROBES, *sounds.PROBES):
        for strength in probe.strengths:
            dice = np.random.default_rng(7)
            found = [judge(probe.damage(each, strength, dice)) for each in probed]
            kinds = Counter(findings[0].defect.value for findings in found if findings)
            share = np.mean([bool(findings) for findings in found])
            print(f"| {probe.name} | {strength:g} {probe.unit} | {share:.1%} | {named(kinds)} |", flush=True)


def print_words(probed: Sequence[Given], pool: RecogniserPool) -> None:
    heard = [(each, pool.transcribe(each.example.speech)) for each in probed]
    alarms = sum(bool(word_findings(compared(each.example.text, words, LANGUAGE))) for each, words in heard)
    print(f"\nread back: {len(heard)} utterances, alarms {alarms}\n")
    print("| with the recogniser | utterances | caught |\n|---|---:|---:|")
    for probe in content.WORD_PROBES:
        dice = np.random.default_rng(7)
        changed = [
            bool(word_findings(compared(text, words, LANGUAGE)))
            for each, words in heard
            if (text := probe.damage(each, probe.strengths[0], dice).text) != each.example.text
        ]
        print(f"| {probe.name} | {len(changed)} | {np.mean(changed) if changed else 0:.1%} |")


def named(kinds: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in kinds.most_common(3))


if __name__ == "__main__":
    main()
