"""Train the speaker encoder: which of the two speakers a recording is nearer to.

    python -m training.train_speaker_encoder --speech DIR --out encoder.pt --steps 1500

A voice becomes one number, 0 the first speaker and 1 the second; `training.export` turns it into the vector on the
straight line between their rows in the talker's table. Voices that neither teacher has come from playing a recording
faster or slower, and belong to the speaker they are still nearer to. Bandwidth, loudness and noise vary, so that it is
the voice that counts and not the sampling rate of the teacher.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from training.device import best_device
from training.dimensions import SAMPLE_RATE_HZ, SAMPLES_PER_FRAME
from training.speech.recordings import load_streams
from training.steps import Unusable, run_step, step_parser
from worker.engine.model.mel import LogMel
from worker.engine.model.padded_batch import PaddedBatch
from worker.engine.model.speaker_encoder import SpeakerEncoder, SpeakerEncoderConfig

logger = logging.getLogger(__name__)

SPEAKER_ENCODER = SpeakerEncoderConfig(
    embedding_dim=320,
    channels=(64, 64, 64, 64, 192),
    attention_channels=32,
    se_channels=32,
)

_CROP = 3 * SAMPLE_RATE_HZ
# How much faster each speaker may be played and still be the nearest: both ends meet at about 140 Hz.
_SPEEDS = ((0.82, 1.45), (0.68, 1.22))
_SHARE_HELD_OUT = 0.1
# What is held out has room for more than one crop.
_LEAST_SAMPLES = int(1.1 * _CROP / _SHARE_HELD_OUT)


@dataclass(frozen=True, slots=True)
class Voices:
    """int16 samples of each speaker, and where those that are not trained on begin."""

    samples: tuple[Tensor, ...]
    held_out_from: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """batch: recordings of a step, and of each speaker when what is held out is measured."""

    steps: int
    batch: int


class VoiceScale(nn.Module):
    """Log mel rows of a batch to one number each."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = SpeakerEncoder(SPEAKER_ENCODER)
        self.encoder.fc = nn.Conv1d(2 * SPEAKER_ENCODER.channels[-1], 1, 1)

    def forward(self, log_mel: Tensor) -> Tensor:
        """(B, T, 128) -> (B,)."""
        rows = PaddedBatch([log_mel.shape[1]] * log_mel.shape[0], log_mel.device)
        return self.encoder(log_mel, rows)[:, 0]


def main(argv: Sequence[str] | None = None) -> None:
    parser = step_parser(__doc__)
    parser.add_argument("--speech", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--hours", type=float, default=2.0)
    arguments = parser.parse_args(argv)
    torch.manual_seed(1)
    device = best_device()
    voices = _voices(arguments.speech, arguments.hours, device)
    model = VoiceScale().to(device)
    _train(model, voices, Plan(arguments.steps, arguments.batch), np.random.default_rng(1))
    torch.save(model.encoder.state_dict(), arguments.out)


def _voices(folder: Path, hours: float, device: torch.device) -> Voices:
    found: list[list[NDArray[np.int16]]] = [[], []]
    for stream in load_streams(folder, hours):
        found[stream.utterances[0].speaker].append(np.array(stream.pcm[: stream.frames * SAMPLES_PER_FRAME]))
    shortest = min(sum(len(part) for part in parts) for parts in found)
    if shortest < _LEAST_SAMPLES:
        wanted_s = _LEAST_SAMPLES / SAMPLE_RATE_HZ
        raise Unusable(f"a speaker has {shortest / SAMPLE_RATE_HZ:.0f} s of speech in {folder}, not {wanted_s:.0f}")
    samples = [torch.from_numpy(np.concatenate(parts)).to(device) for parts in found]
    logger.info("%s of speech", [f"{len(s) / SAMPLE_RATE_HZ / 3600:.2f} h" for s in samples])
    return Voices(tuple(samples), tuple(int(len(s) * (1 - _SHARE_HELD_OUT)) for s in samples))


def _train(model: VoiceScale, voices: Voices, plan: Plan, rng: np.random.Generator) -> None:
    device = voices.samples[0].device
    log_mel = LogMel(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=plan.steps)
    for step in range(plan.steps):
        rows, wanted = _batch(voices, plan.batch, log_mel, rng)
        loss = F.smooth_l1_loss(model(rows), wanted, beta=0.2)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 99:
            logger.info("step %d loss %.4f", step + 1, float(loss.detach()))
    model.eval()
    with torch.no_grad():
        rows, wanted = _held_out(voices, plan.batch, log_mel, rng)
        found = model(rows)
    for speaker in (0, 1):
        own = found[wanted == speaker]
        logger.info("held out, speaker %d: mean %.3f, %.3f to %.3f", speaker, own.mean(), own.min(), own.max())


def _batch(voices: Voices, size: int, log_mel: LogMel, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Changed recordings as (B, T, 128), and which speaker each is nearer to."""
    wanted = rng.integers(0, 2, size)
    sounds = [
        _changed(voices.samples[who], int(rng.integers(0, voices.held_out_from[who] - 2 * _CROP)), who, rng)
        for who in wanted
    ]
    device = voices.samples[0].device
    return _log_mel_of(sounds, log_mel), torch.from_numpy(wanted).float().to(device)


def _held_out(voices: Voices, size: int, log_mel: LogMel, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """As the teachers speak."""
    sounds: list[Tensor] = []
    for samples, start in zip(voices.samples, voices.held_out_from, strict=True):
        places = rng.integers(start, len(samples) - _CROP, size)
        sounds += [samples[at : at + _CROP].float() / 32768 for at in places]
    wanted = torch.arange(2, device=voices.samples[0].device).repeat_interleave(size)
    return _log_mel_of(sounds, log_mel), wanted


def _log_mel_of(sounds: Sequence[Tensor], log_mel: LogMel) -> Tensor:
    """Sounds of one length as (B, T, 128)."""
    samples = torch.stack(list(sounds))
    return log_mel(samples, PaddedBatch([samples.shape[1]] * samples.shape[0], samples.device))


def _changed(samples: Tensor, at: int, speaker: int, rng: np.random.Generator) -> Tensor:
    low, high = _SPEEDS[speaker]
    speed = float(np.exp(rng.uniform(np.log(low), np.log(high)))) if rng.random() < 0.75 else 1.0
    part = samples[at : at + int(_CROP * speed)].float() / 32768
    sound = F.interpolate(part[None, None], size=_CROP, mode="linear", align_corners=False)[0, 0]
    sound = _filtered(sound, rng) * float(10 ** rng.uniform(-0.7, 0.5))
    return sound + torch.randn_like(sound) * float(10 ** rng.uniform(-5, -2.7))


def _filtered(sound: Tensor, rng: np.random.Generator) -> Tensor:
    """Without what is above some frequency, and louder or softer towards it."""
    top_hz = float(rng.uniform(3_400, 12_000)) if rng.random() < 0.8 else 12_000.0
    spectrum = torch.fft.rfft(sound)
    hz = torch.linspace(0, SAMPLE_RATE_HZ / 2, len(spectrum), device=sound.device)
    tilt = (hz / 1_000 + 0.1) ** float(rng.uniform(-0.3, 0.3))
    return torch.fft.irfft(spectrum * tilt * (hz < top_hz), n=len(sound))


if __name__ == "__main__":
    run_step(main)
