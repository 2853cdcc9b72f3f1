"""How far off the times of words are, voice by voice, and what they cost.

    python benchmarks/speech/word_times.py --unpacked DIR [--recordings FOLDER] [--small-voice] [--sentences 60]

Held against: the times that flite and festival themselves give of their speech (DIR: their Debian packages, see
`training/README.md`; the aligner learned from all of these voices but awb), and PocketSphinx's forced alignment for
what the small voice says and for recordings of people (FOLDER: WAV files with a `transcription` of lines
`words (file)`, as Debian's pocketsphinx-testdata has them). Sentences are those that no training has seen, the
teachers' two at a time. The last columns say what an estimate without hearing would have given, in how many utterances
the aligner fell back to it, in how many it did where the text was another sentence's, and the CPU time for four seconds
of speech.
"""

from __future__ import annotations

import argparse
import re
import time
import wave
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.speech.listening.forced_alignment import ForcedAligner, Times
from benchmarks.speech.listening.teachers import SENTENCES
from worker.speech.alignment.aligner import Method, WordAligner

ROOT = Path(__file__).resolve().parents[2]
FLITE_VOICES = ("rms", "slt", "kal16", "awb")
_TRANSCRIPT = re.compile(r"(?:<s> )?(?P<words>.*?)(?: </s>)? \((?P<file>.*)\)")
_UTTERANCE_S = 4.0


@dataclass(frozen=True, slots=True)
class Utterance:
    """times: of each word as somebody else gives them; None for a word without."""

    pcm: NDArray[np.int16]
    rate_hz: int
    words: tuple[str, ...]
    times: tuple[Times | None, ...]

    @property
    def seconds(self) -> float:
        return len(self.pcm) / self.rate_hz

    def begins_sentence(self, number: int) -> bool:
        return number == 0 or self.words[number - 1].endswith((".", "?", "!"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unpacked", type=Path)
    parser.add_argument("--recordings", type=Path)
    parser.add_argument("--small-voice", action="store_true")
    parser.add_argument("--sentences", type=int, default=60, help="spread evenly over all lengths")
    arguments = parser.parse_args()
    every = SENTENCES.read_text(encoding="utf-8").splitlines()
    chosen = np.linspace(0, len(every) - 1, min(arguments.sentences, len(every))).round().astype(int)
    texts = [every[number] for number in chosen]
    print("| voice | utterances | words | starts, median / 90 % | ends | sentences | by estimate | fell back"
          " | of other texts | CPU |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")  # fmt: skip
    if arguments.unpacked:
        for name, utterances in _teachers(arguments.unpacked, texts):
            print(row(name, utterances), flush=True)
    if arguments.small_voice:
        for name, utterances in _small_voice(texts):
            print(row(f"small voice, {name}", utterances), flush=True)
    if arguments.recordings:
        print(row("people", list(_recordings(arguments.recordings))), flush=True)


def row(name: str, utterances: Sequence[Utterance]) -> str:
    aligner = WordAligner()
    aligner.align(utterances[0].pcm, utterances[0].rate_hz, utterances[0].words, english=True)
    began_s = time.process_time()
    found = [aligner.align(each.pcm, each.rate_hz, each.words, english=True) for each in utterances]
    cpu_s = time.process_time() - began_s
    blind = [aligner.align(each.pcm, each.rate_hz, each.words, english=False) for each in utterances]
    others = [*utterances[len(utterances) // 2 :], *utterances[: len(utterances) // 2]]
    wrong = [
        aligner.align(each.pcm, each.rate_hz, other.words, english=True)
        for each, other in zip(utterances, others, strict=True)
    ]
    starts, ends, firsts, guessed = [], [], [], []
    for utterance, times, estimate in zip(utterances, found, blind, strict=True):
        known = [number for number, each in enumerate(utterance.times) if each is not None]
        truth = [each for each in utterance.times if each is not None]
        starts += [abs(times.words[n].start_s - t[0]) for n, t in zip(known, truth, strict=True)]
        ends += [abs(times.words[n].end_s - t[1]) for n, t in zip(known, truth, strict=True)]
        guessed += [abs(estimate.words[n].start_s - t[0]) for n, t in zip(known, truth, strict=True)]
        firsts += [
            abs(times.words[n].start_s - t[0])
            for n, t in zip(known, truth, strict=True)
            if utterance.begins_sentence(n)
        ]
    seconds = sum(each.seconds for each in utterances)
    fell_back = sum(each.method is Method.ESTIMATED for each in found)
    refused = sum(each.method is Method.ESTIMATED for each in wrong)
    cells = (
        name,
        len(utterances),
        len(starts),
        _errors(starts),
        _errors(ends),
        _errors(firsts),
        _errors(guessed),
        fell_back,
        f"{refused} of {len(wrong)}",
        f"{1000 * cpu_s * _UTTERANCE_S / seconds:.1f} ms",
    )
    return f"| {' | '.join(map(str, cells))} |"


def _errors(errors_s: Sequence[float]) -> str:
    return f"{1000 * np.median(errors_s):.0f} / {1000 * np.percentile(errors_s, 90):.0f} ms"


def _teachers(unpacked: Path, texts: Sequence[str]) -> Iterator[tuple[str, list[Utterance]]]:
    from training.corpus.rows import spoken_words
    from training.speech.voices import FestivalSlt, FliteVoice, Voice

    voices: dict[str, Voice] = {"festival slt": FestivalSlt(unpacked)}
    voices |= {f"flite {name}": FliteVoice(unpacked, name) for name in FLITE_VOICES}
    pairs = [" ".join(texts[number : number + 2]) for number in range(0, len(texts), 2)]
    for name, voice in voices.items():
        utterances: list[Utterance] = []
        for text in pairs:
            spoken, words = voice.speak(text), spoken_words(text)
            if len(words) == len(spoken.tokens):
                pcm = (spoken.samples * 32_767).astype(np.int16)
                utterances.append(Utterance(pcm, spoken.rate_hz, tuple(words), spoken.tokens))
        yield name, utterances


def _small_voice(texts: Sequence[str]) -> Iterator[tuple[str, list[Utterance]]]:
    from benchmarks.speech.voice_quality import speak_all
    from worker.speech.audio.samples import to_samples
    from worker.speech.audio.speech_edges import finish_edges

    other, spoken = ForcedAligner(), speak_all(ROOT / "worker/small_voice", texts, "english")
    for name, examples in spoken.by_speaker.items():
        said = [
            (to_samples(finish_edges(one.speech.pcm, one.speech.sample_rate_hz)), one.speech.sample_rate_hz, one.text)
            for one in examples
        ]
        yield name, [found for each in said if (found := _aligned(other, *each)) is not None]


def _recordings(folder: Path) -> Iterator[Utterance]:
    other = ForcedAligner()
    for line in (folder / "transcription").read_text(encoding="utf-8").splitlines():
        match = _TRANSCRIPT.fullmatch(line.strip())
        if match is None:
            continue
        with wave.open(str(folder / f"{Path(match['file']).name}.wav")) as file:
            pcm = np.frombuffer(file.readframes(file.getnframes()), "<i2")
            found = _aligned(other, pcm, file.getframerate(), match["words"])
        if found is not None:
            yield found


def _aligned(other: ForcedAligner, pcm: NDArray[np.int16], rate_hz: int, text: str) -> Utterance | None:
    words = tuple(text.split())
    times = other.words(pcm, rate_hz, words)
    return None if times is None else Utterance(pcm, rate_hz, words, tuple(times))


if __name__ == "__main__":
    main()
