"""One text at a time on this CPU, with the checkpoint's draft heads and without them.

    python benchmarks/engine/drafted_codes.py [--checkpoint worker/small_voice] [--sentences 20] [--temperature 0.9]

Two engines speak the same sentences in turn, each sentence alone, with the same seeds; the codes must be the same. CPU
is of the whole process, decoding included, and of the talker's loop alone.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import psutil

from worker.engine.interface import BuiltInSpeaker, CodecFrames, Engine, SpeechRequest, TokenSampling
from worker.engine.native import NativeEngine
from worker.engine.settings import NativeEngineSettings
from worker.engine.stages.draft_heads import DRAFTS_FILE, DRAFTS_FOLDER

ROOT = Path(__file__).resolve().parents[2]
SENTENCES = ROOT / "training/corpus/calibration_sentences.txt"


@dataclass(frozen=True, slots=True)
class Spoken:
    frames: CodecFrames
    cpu_s: float
    loop_cpu_s: float


class OneByOne:
    def __init__(self, engine: Engine, temperature: float | None) -> None:
        self._engine = engine
        self._sampling = engine.info.default_sampling
        if temperature is not None:
            drawn = TokenSampling(temperature=temperature, top_k=20, top_p=1.0)
            self._sampling = replace(self._sampling, talker=drawn, predictor=drawn)

    def say(self, number: int, text: str, loop: int) -> Spoken:
        """loop: the thread that runs the engine's talker."""
        voices = self._engine.info.speakers
        request = SpeechRequest(
            str(number), text, BuiltInSpeaker(voices[number % len(voices)]), sampling=self._sampling, seed=number
        )
        began_s, loop_began_s = time.process_time(), thread_cpu_s(loop)
        frames = self._engine.submit(request).result().frames
        return Spoken(frames, time.process_time() - began_s, thread_cpu_s(loop) - loop_began_s)


def thread_cpu_s(native_id: int) -> float:
    return next(one.user_time + one.system_time for one in psutil.Process().threads() if one.id == native_id)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, default=ROOT / "worker/small_voice")
    parser.add_argument("--sentences", type=int, default=20)
    parser.add_argument("--temperature", type=float, help="instead of the checkpoint's own, with a top-k of 20")
    arguments = parser.parse_args()
    if not (arguments.checkpoint / DRAFTS_FILE).exists():
        parser.error(f"{arguments.checkpoint} has no {DRAFTS_FILE}: rhapsode distil-draft makes it")
    load_before = os.getloadavg()[0]
    texts = SENTENCES.read_text(encoding="utf-8").splitlines()[: arguments.sentences]
    with ExitStack() as stack:
        without = stack.enter_context(without_heads(arguments.checkpoint))
        plain, plain_loop = started(stack, without)
        drafted, drafted_loop = started(stack, arguments.checkpoint)
        by_plain, by_drafted = OneByOne(plain, arguments.temperature), OneByOne(drafted, arguments.temperature)
        pairs: list[tuple[Spoken, Spoken]] = []
        for number, text in enumerate(texts):
            pair = by_plain.say(number, text, plain_loop), by_drafted.say(number, text, drafted_loop)
            if not np.array_equal(pair[0].frames, pair[1].frames):
                raise SystemExit(f"the codes of {text!r} are others with drafts")
            pairs.append(pair)
    print(json.dumps(figures(pairs[1:]) | {"load_before": round(load_before, 2)}, indent=1))


def figures(pairs: Sequence[tuple[Spoken, Spoken]]) -> dict[str, float]:
    """The first pair warms up and is not in it."""
    frames = sum(len(plain.frames) for plain, _ in pairs)
    plain_s, drafted_s = (sum(pair[side].loop_cpu_s for pair in pairs) for side in range(2))
    return {
        "frames": frames,
        "loop_cpu_ms_a_frame_plain": round(plain_s / frames * 1e3, 2),
        "loop_cpu_ms_a_frame_drafted": round(drafted_s / frames * 1e3, 2),
        "loop_ratio": round(drafted_s / plain_s, 3),
        "whole_ratio": round(sum(b.cpu_s for _, b in pairs) / sum(a.cpu_s for a, _ in pairs), 3),
    }


def started(stack: ExitStack, checkpoint: Path) -> tuple[Engine, int]:
    """The engine and its talker's thread."""
    before = {thread.ident for thread in threading.enumerate()}
    settings = NativeEngineSettings(checkpoint, slots=4, live_slots=0, num_threads=1)
    engine = stack.enter_context(closing(NativeEngine(settings)))
    loops = [one for one in threading.enumerate() if one.ident not in before and one.name == "talker-loop"]
    assert loops[0].native_id is not None
    return engine, loops[0].native_id


@contextmanager
def without_heads(checkpoint: Path) -> Generator[Path]:
    """A copy of the checkpoint that has none."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / checkpoint.name
        shutil.copytree(checkpoint, copy, ignore=shutil.ignore_patterns(DRAFTS_FOLDER))
        yield copy


if __name__ == "__main__":
    main()
