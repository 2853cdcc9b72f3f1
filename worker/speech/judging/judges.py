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
from numpy.typing import NDArray

from worker.speech.judging.judges_here import INSTALL
from worker.speech.quality.recognisers.interface import resampled

SAMPLE_RATE_HZ = 16_000
FFT_SIZE = 400
HOP = 160

_KNEE_HZ, _HZ_PER_MEL = 1000.0, 200.0 / 3.0
_LOG_STEP = np.log(6.4) / 27.0

Floats = NDArray[np.float32]

_BANDS, _SIZE, _LAYERS = 40, 256, 3
_WINDOW_ROWS, _STEP_ROWS = 160, 77
_TARGET_RMS = 10 ** (-30 / 20)


class SimilarityEncoder(torch.nn.Module):
    """Resemblyzer's speaker encoder (Wan et al., "Generalized End-to-End Loss", arXiv 1710.10467; Apache-2.0).

    Only its weights are read; silence at the edges should be cut off before. Raises ModuleNotFoundError.
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
        samples = resampled(pcm, sample_rate_hz, SAMPLE_RATE_HZ)
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
    Speech Quality Assessment", 2025; MIT): a mean opinion score, 1 to 5, without a reference.

    Raises ModuleNotFoundError.
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
        return float(self._model(torch.from_numpy(resampled(pcm, sample_rate_hz, SAMPLE_RATE_HZ))[None]))


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{name} is not installed: {INSTALL}")
    return Path(spec.origin).parent


def mel_power(samples: Floats, num_bands: int) -> Floats:
    """Samples (S,) at 16 kHz into (1 + S // 160, num_bands): power in bands of windows of 25 ms, 10 ms apart."""
    edge = np.zeros(FFT_SIZE // 2, np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(np.concatenate((edge, samples, edge)), FFT_SIZE)[::HOP]
    # The periodic Hann window.
    window = np.hanning(FFT_SIZE + 1)[:-1]
    power = np.square(np.abs(np.fft.rfft(windows * window, axis=1)))
    return (power @ mel_bands(num_bands).T).astype(np.float32)


def mel_bands(num_bands: int) -> NDArray[np.float64]:
    """(num_bands, 201): triangles of equal area up to 8 kHz."""
    bins_hz = np.linspace(0, SAMPLE_RATE_HZ / 2, FFT_SIZE // 2 + 1)
    top_mel = _KNEE_HZ / _HZ_PER_MEL + np.log(SAMPLE_RATE_HZ / 2 / _KNEE_HZ) / _LOG_STEP
    mels = np.linspace(0, top_mel, num_bands + 2)
    knee_mel = _KNEE_HZ / _HZ_PER_MEL
    corners = np.where(mels < knee_mel, mels * _HZ_PER_MEL, _KNEE_HZ * np.exp((mels - knee_mel) * _LOG_STEP))
    low, centre, high = corners[:-2, None], corners[1:-1, None], corners[2:, None]
    triangles = np.minimum((bins_hz - low) / (centre - low), (high - bins_hz) / (high - centre)).clip(0)
    return triangles * (2 / (high - low))
