"""One call of the model: phones in, samples out. Threads share it; each call runs on the thread that makes it."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from worker.engine.interface import Pcm

SAMPLE_RATE_HZ = 24_000
SAMPLES_PER_FRAME = 600
MOST_PHONES = 510
"""Rows of a voice pack; of more phones the model fails."""

_PAD = 0


class ModelCall:
    """One call of the model or several in a row, which another thread may stop."""

    def __init__(self) -> None:
        self.options: Any = onnxruntime.RunOptions()
        # Memory is given back behind each call: it would keep what the longest text took.
        self.options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")

    def stop(self) -> None:
        """It ends at its next operation."""
        self.options.terminate = True


class KokoroModel:
    def __init__(self, model: bytes, symbols: dict[str, int]) -> None:
        """symbols: the number of each phone and sign."""
        options = onnxruntime.SessionOptions()
        # A second thread makes a call slower.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4  # what fails is raised as well
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._symbols = symbols

    def known(self, symbols: str) -> str:
        """The phones and signs that the model has."""
        return "".join(symbol for symbol in symbols if symbol in self._symbols)

    def say(self, phones: str, style: NDArray[np.float32], speed: float, call: ModelCall) -> Pcm:
        """phones: known ones, at most `MOST_PHONES`; style (256,). The samples fill whole frames.

        Raises onnxruntime's own error once `call` is stopped.
        """
        tokens = [_PAD, *(self._symbols[phone] for phone in phones), _PAD]
        feed = {
            "tokens": np.array([tokens], np.int64),
            "style": style[None],
            "speed": np.array([speed], np.float32),
        }
        return cast("Pcm", self._session.run(["audio"], feed, call.options)[0]).reshape(-1)
