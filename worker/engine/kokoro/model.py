"""Calls of the model: phones in, samples out, and how far they have come. Each runs on the thread that makes it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from worker.engine.interface import Pcm
from worker.engine.kokoro.graph import part_of

SAMPLE_RATE_HZ = 24_000
SAMPLES_PER_FRAME = 600
MOST_PHONES = 510
"""Rows of a voice pack; of more phones the model fails."""

STEP_S = 0.01

_PAD = 0

_LENGTHS, _SAID = "/encoder/Clip_output_0", "/encoder/MatMul_1_output_0"
_PITCH, _ENERGY = "/encoder/Reshape_output_0", "/encoder/Reshape_1_output_0"

_Floats = NDArray[np.float32]


class ModelCall:
    """One call of the model or several in a row, which another thread may stop."""

    def __init__(self) -> None:
        self.options: Any = onnxruntime.RunOptions()
        # Memory is given back behind each call: it would keep what the longest text took.
        self.options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")

    def stop(self) -> None:
        """It ends at its next operation."""
        self.options.terminate = True


@dataclass(frozen=True, slots=True)
class SoundPlan:
    """How a text is spoken, before there is sound. said (1, 512, T); pitch, energy (1, 2 T); style (1, 256).

    lead: frames before the first phone.
    """

    lead: int
    said: _Floats
    pitch: _Floats
    energy: _Floats
    style: _Floats

    @property
    def num_frames(self) -> int:
        return self.said.shape[2]


class KokoroModel:
    """The model in two: the first half plans, in 3 % of the time, the second one makes sound of any stretch of it."""

    def __init__(self, model: bytes, symbols: dict[str, int]) -> None:
        """symbols: the number of each phone and sign."""
        options = onnxruntime.SessionOptions()
        # A second thread makes a call slower.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4  # what fails is raised as well
        planned = (_SAID, _PITCH, _ENERGY)
        self._planner, self._speaker = (
            onnxruntime.InferenceSession(part_of(model, given, made), options, providers=["CPUExecutionProvider"])
            for given, made in (
                (("tokens", "style", "speed"), (_LENGTHS, *planned)),
                ((*planned, "style"), ("audio",)),
            )
        )
        self._symbols = symbols

    def known(self, symbols: str) -> str:
        """The phones and signs that the model has."""
        return "".join(symbol for symbol in symbols if symbol in self._symbols)

    def plan(self, phones: str, style: _Floats, speed: float, lead_speed: float, call: ModelCall) -> SoundPlan:
        """phones: known ones, at most `MOST_PHONES`; style (256,); lead_speed: of the silence before the first.

        Raises onnxruntime's own error once `call` is stopped.
        """
        tokens = [_PAD, *(self._symbols[phone] for phone in phones), _PAD]
        feed = {
            "tokens": np.array([tokens], np.int64),
            "style": style[None],
            "speed": np.array([lead_speed, *[speed] * (len(phones) + 1)], np.float32),
        }
        lengths, said, pitch, energy = cast("list[_Floats]", self._planner.run(None, feed, call.options))
        return SoundPlan(int(lengths[0, 0]), said, pitch, energy, style[None])

    def sound(self, plan: SoundPlan, start: int, end: int, call: ModelCall) -> Pcm:
        """Samples of the frames from `start` to `end`. Raises as `plan` does."""
        feed = {
            _SAID: plan.said[:, :, start:end],
            _PITCH: plan.pitch[:, 2 * start : 2 * end],
            _ENERGY: plan.energy[:, 2 * start : 2 * end],
            "style": plan.style,
        }
        return cast("Pcm", self._speaker.run(None, feed, call.options)[0]).reshape(-1)


class ThreadClock:
    """How far calls have come that say nothing while they run: the processor's time of the threads that make them.

    A call takes seconds, on a busy machine more than the watchdog waits. A thread that computes uses time; one that
    hangs uses none.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clocks: set[int] = set()
        self._ended_s = 0.0

    @contextmanager
    def of_this_thread(self) -> Generator[None]:
        """Count the time that it uses meanwhile."""
        if sys.platform != "linux":  # other systems tell the time of the whole process alone
            yield
            return
        clock = time.pthread_getcpuclockid(threading.get_ident())
        with self._lock:
            self._clocks.add(clock)
        try:
            yield
        finally:
            with self._lock:
                self._clocks.remove(clock)
                self._ended_s += time.clock_gettime(clock)

    def steps(self) -> int:
        """Never falls; grows by one for every 10 ms of processor time."""
        if sys.platform != "linux":
            return int(time.process_time() / STEP_S)
        with self._lock:
            return int((self._ended_s + sum(map(time.clock_gettime, self._clocks))) / STEP_S)
