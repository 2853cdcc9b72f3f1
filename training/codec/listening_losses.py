"""How far a sound is from another one: spectra at six resolutions, and a discriminator on spectra and waveform."""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.codec.features import mel_filters

_SCALES = ((64, 8), (128, 16), (256, 24), (512, 48), (1024, 96), (2048, 160))
_WINDOWS = (2048, 1024, 512, 256)
# Primes, so that no two of them take the same samples.
_PERIODS = (2, 3, 5, 7, 11)


class MelLoss(nn.Module):
    """Mean absolute difference of log10 mel spectra. Samples (B, 1, N)."""

    def __init__(self) -> None:
        super().__init__()
        for fft, mels in _SCALES:
            self.register_buffer(f"window{fft}", torch.hann_window(fft), persistent=False)
            self.register_buffer(f"filters{fft}", mel_filters(mels, fft), persistent=False)

    def forward(self, ours: Tensor, theirs: Tensor) -> Tensor:
        ours, theirs = ours.float().squeeze(1), theirs.float().squeeze(1)
        total = sum((self._mel(ours, fft) - self._mel(theirs, fft)).abs().mean() for fft, _ in _SCALES)
        assert isinstance(total, Tensor)  # noqa: S101  (there is a scale)
        return total / len(_SCALES)

    def _mel(self, samples: Tensor, fft: int) -> Tensor:
        spectrum = torch.stft(samples, fft, fft // 4, window=getattr(self, f"window{fft}"), return_complex=True)
        magnitude = torch.sqrt(spectrum.real**2 + spectrum.imag**2 + 1e-9)
        return torch.log10((getattr(self, f"filters{fft}") @ magnitude).clamp(min=1e-5))


class SpectrumDiscriminator(nn.Module):
    """Convolutions over a complex spectrogram whose magnitude is compressed to the power 0.3."""

    window: Tensor

    def __init__(self, fft: int, channels: int) -> None:
        super().__init__()
        self.fft = fft
        self.register_buffer("window", torch.hann_window(fft), persistent=False)
        self.convs = nn.ModuleList(
            [
                _conv(2, channels, (3, 9)),
                _conv(channels, channels, (3, 9), stride=2),
                _conv(channels, channels, (3, 9), stride=2, dilation=2),
                _conv(channels, channels, (3, 9), stride=2, dilation=4),
                _conv(channels, channels, (3, 3)),
            ]
        )
        self.post = _conv(channels, 1, (3, 3))

    def forward(self, samples: Tensor) -> tuple[Tensor, list[Tensor]]:
        with torch.autocast(samples.device.type, enabled=False):
            spectrum = torch.stft(
                samples.float().squeeze(1), self.fft, self.fft // 4, window=self.window, return_complex=True
            )
            parts = torch.stack((spectrum.real, spectrum.imag), 1).transpose(2, 3)
            x = parts * parts.pow(2).sum(1, keepdim=True).clamp(min=1e-6).pow(-0.35)
        seen: list[Tensor] = []
        for conv in self.convs:
            x = F.leaky_relu(conv(x), 0.2)
            seen.append(x)
        return self.post(x), seen


def _conv(inputs: int, outputs: int, kernel: tuple[int, int], stride: int = 1, dilation: int = 1) -> nn.Module:
    padding = ((kernel[0] - 1) * dilation // 2, (kernel[1] - 1) // 2)
    conv = nn.Conv2d(inputs, outputs, kernel, (1, stride), padding, (dilation, 1))
    return nn.utils.parametrizations.weight_norm(conv)


class PeriodDiscriminator(nn.Module):
    """Convolutions over every n-th sample: it hears the waveform itself, phases of the pitch among it, of which a
    spectrum of 20 ms says little. Source: HiFi-GAN (Kong et al., 2020), with fewer channels."""

    def __init__(self, period: int, channels: int) -> None:
        super().__init__()
        self.period = period
        widths = (1, channels, 2 * channels, 4 * channels, 8 * channels)
        strided = [_column_conv(*pair, stride=3) for pair in pairwise(widths)]
        self.convs = nn.ModuleList([*strided, _column_conv(widths[-1], widths[-1], stride=1)])
        self.post = nn.utils.parametrizations.weight_norm(nn.Conv2d(widths[-1], 1, (3, 1), padding=(1, 0)))

    def forward(self, samples: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Samples (B, 1, N) -> scores (B, 1, about N / (81 period), period), and what each layer sees."""
        x = F.pad(samples, (0, -samples.shape[-1] % self.period)).unflatten(-1, (-1, self.period))
        seen: list[Tensor] = []
        for conv in self.convs:
            x = F.leaky_relu(conv(x), 0.2)
            seen.append(x)
        return self.post(x), seen


def _column_conv(inputs: int, outputs: int, stride: int) -> nn.Module:
    """Along time; the phases of a period stay apart."""
    return nn.utils.parametrizations.weight_norm(nn.Conv2d(inputs, outputs, (5, 1), (stride, 1), (2, 0)))


class Discriminator(nn.Module):
    """All its parts judge the same samples (B, 1, N), each for itself."""

    def __init__(self, channels: int = 32) -> None:
        super().__init__()
        spectra = [SpectrumDiscriminator(fft, channels) for fft in _WINDOWS]
        self.parts = nn.ModuleList([*spectra, *(PeriodDiscriminator(period, channels) for period in _PERIODS)])

    def forward(self, samples: Tensor) -> list[tuple[Tensor, list[Tensor]]]:
        return [part(samples) for part in self.parts]


def discriminator_loss(real: list[Tensor], made: list[Tensor]) -> Tensor:
    losses = [F.relu(1 - r.float()).mean() + F.relu(1 + m.float()).mean() for r, m in zip(real, made, strict=True)]
    return torch.stack(losses).mean()


def adversarial_loss(made: list[Tensor]) -> Tensor:
    return torch.stack([-m.float().mean() for m in made]).mean()


def matching_loss(real: list[list[Tensor]], made: list[list[Tensor]]) -> Tensor:
    """Difference of what the discriminator sees, relative to its size."""
    pairs = [(r, m) for ours, theirs in zip(real, made, strict=True) for r, m in zip(ours, theirs, strict=True)]
    return torch.stack([(m - r).abs().float().mean() / r.abs().float().mean() for r, m in pairs]).mean()
