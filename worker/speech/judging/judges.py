"""Two published judges of speech whose weights come in PyPI packages: whose voice it is, and how good it sounds.

Their packages demand things that are not needed here (a compiler, an audio library that does not load beside this
torch), so they are installed without dependencies:

    pip install --no-deps Resemblyzer==0.1.4 distillmos==0.9.1 xls-r-sqa==0.1.0
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
import types
from pathlib import Path

import numpy as np
import torch

from worker.speech.judging.judges_here import INSTALL
from worker.speech.judging.mel import Floats, mel_power, resampled

_BANDS, _SIZE, _LAYERS = 40, 256, 3
_WINDOW_ROWS, _STEP_ROWS = 160, 77
_TARGET_RMS = 10 ** (-30 / 20)


class JudgeMissing(Exception):
    """The judge's package is not installed: see `INSTALL`."""


class SimilarityEncoder(torch.nn.Module):
    """Resemblyzer's speaker encoder (Wan et al., "Generalized End-to-End Loss", arXiv 1710.10467; Apache-2.0).

    Only its weights are read; silence at the edges should be cut off before. Raises JudgeMissing.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(_BANDS, _SIZE, _LAYERS, batch_first=True)
        self.linear = torch.nn.Linear(_SIZE, _SIZE)
        weights = torch.load(_package("resemblyzer") / "pretrained.pt", map_location="cpu", weights_only=True)
        known = self.state_dict()
        self.load_state_dict({name: value for name, value in weights["model_state"].items() if name in known})

    @torch.inference_mode()
    def embed(self, pcm: Floats, sample_rate_hz: int) -> Floats:
        """(256,) of length one, all non-negative; the cosine of two is their dot product."""
        samples = resampled(pcm, sample_rate_hz)
        level = float(np.sqrt(np.mean(np.square(samples))))
        rows = mel_power(samples * np.float32(max(1.0, _TARGET_RMS / max(level, 1e-9))), _BANDS)
        starts = range(0, max(1, len(rows) - _WINDOW_ROWS + 1), _STEP_ROWS)
        short = max(0, _WINDOW_ROWS - len(rows))
        padded = np.pad(rows, ((0, short), (0, 0)))
        windows = torch.from_numpy(np.stack([padded[start : start + _WINDOW_ROWS] for start in starts]))
        raw = torch.relu(self.linear(self.lstm(windows)[1][0][-1]))
        mean = torch.nn.functional.normalize(raw, dim=1).mean(dim=0)
        return torch.nn.functional.normalize(mean, dim=0).numpy()


class QualityJudge:
    """distillMOS (Stahl and Gamper, "Distillation and Pruning for Scalable Self-Supervised Representation-Based
    Speech Quality Assessment", 2025; MIT): a mean opinion score, 1 to 5, without a reference. Raises JudgeMissing.
    """

    def __init__(self) -> None:
        for name in ("distillmos", "xls_r_sqa"):
            _package(name)
        # Its module imports torchaudio for its command line alone.
        for name in ("torchaudio", "torchaudio.transforms"):
            sys.modules.setdefault(name, types.ModuleType(name))
        with contextlib.redirect_stdout(io.StringIO()):
            import distillmos

            self._model = distillmos.ConvTransformerSQAModel().eval()

    @torch.inference_mode()
    def score(self, pcm: Floats, sample_rate_hz: int) -> float:
        return float(self._model(torch.from_numpy(resampled(pcm, sample_rate_hz))[None]))


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise JudgeMissing(f"{name} is not installed: {INSTALL}")
    return Path(spec.origin).parent
