"""The convolutions of a codec decoder of the published dimensions, with random tensors, as its passes call them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from worker.engine.cuda.codec.convolution import CausalConvolution
from worker.engine.cuda.codec.kernels.causal_conv import Activation, ConvWeights, Outputs
from worker.engine.cuda.codec.kernels.snake import SnakeTable
from worker.engine.model.codec_config import CodecDecoderConfig, CodecTransformerConfig

PUBLISHED = CodecDecoderConfig(
    transformer=CodecTransformerConfig(512, 1024, 8, 16, 64, 72, 10_000.0, 1e-5),
    codebook_size=2048,
    num_quantizers=16,
    codebook_dim=512,
    latent_dim=1024,
    upsampling_ratios=(2, 2),
    decoder_dim=1536,
    upsample_rates=(8, 5, 4, 3),
)
# Rows in front of a stream's results that a wrong store would reach, and the value that they must keep.
GUARD_ROWS, POISON = 70, -7.0


@dataclass(frozen=True)
class Layer:
    """One convolution as a decoder has it; `rows_per_frame` input rows for each frame."""

    name: str
    num_taps: int
    dilation: int
    num_inputs: int
    num_outputs: int
    channels: int
    rows_per_frame: int
    ending: str
    count: int = 1

    @property
    def rows_back(self) -> int:
        return (self.num_taps - 1) * self.dilation

    @property
    def num_stores(self) -> int:
        return 2 if self.ending in ("widen", "unit") else 1

    @property
    def has_residual(self) -> bool:
        return self.ending in ("unit", "last", "contract")


def decoder_layers() -> list[Layer]:
    latent, width, rate = PUBLISHED.latent_dim, PUBLISHED.decoder_dim, 1
    layers = [Layer("before k3", 3, 1, PUBLISHED.codebook_dim, latent, latent, 1, "plain")]
    for ratio in PUBLISHED.upsampling_ratios:
        layers.append(Layer("up widen", 1, 1, latent, ratio * latent, latent, rate, "plain"))
        rate *= ratio
        layers.append(Layer("up expand", 1, 1, latent, 4 * latent, 4 * latent, rate, "gelu"))
        layers.append(Layer("up contract", 1, 1, 4 * latent, latent, latent, rate, "contract"))
    layers.append(Layer("first k7", 7, 1, latent, width, width, rate, "snake"))
    for ratio in PUBLISHED.upsample_rates:
        narrow = width // 2
        layers.append(Layer("widen", 2, 1, width, ratio * narrow, narrow, rate, "widen"))
        width, rate = narrow, rate * ratio
        layers += [Layer(f"k7 d{d}", 7, d, width, width, width, rate, "snake") for d in (1, 3, 9)]
        layers.append(Layer("1x1 unit", 1, 1, width, width, width, rate, "unit", 2))
        layers.append(Layer("1x1 last", 1, 1, width, width, width, rate, "last"))
    return layers


@dataclass(frozen=True)
class Call:
    """One call of one layer: its tensors, and the buffers that the results are pieces of."""

    layer: Layer
    inputs: Tensor
    weights: ConvWeights
    outputs: Outputs
    residual: Tensor | None
    activation: Activation
    buffers: tuple[Tensor, ...]

    @classmethod
    def drawn(cls, layer: Layer, num_streams: int, rows: int, device: str = "cuda") -> Call:
        generator = torch.Generator(device).manual_seed(layer.num_inputs + layer.dilation)

        def normal(*shape: int, scale: float = 1.0, dtype: torch.dtype = torch.float16) -> Tensor:
            return (torch.randn(*shape, generator=generator, device=device, dtype=torch.float32) * scale).to(dtype)

        def uniform(size: int) -> Tensor:
            return torch.rand(size, generator=generator, device=device) + 0.2

        scale = (layer.num_taps * layer.num_inputs) ** -0.5
        weights = ConvWeights(
            normal(layer.num_taps, layer.num_inputs, layer.num_outputs, scale=scale),
            normal(layer.num_outputs, scale=0.1, dtype=torch.float32),
            layer.dilation,
            layer.channels,
        )
        buffers = [
            torch.full((num_streams, GUARD_ROWS + rows, layer.num_outputs), POISON, device=device, dtype=torch.float16)
            for _ in range(layer.num_stores)
        ]
        results = [buffer[:, GUARD_ROWS:] for buffer in buffers]
        snake = SnakeTable(uniform(layer.channels), uniform(layer.channels))
        outputs = {
            "plain": lambda: Outputs(plain=results[0]),
            "gelu": lambda: Outputs(plain=results[0]),
            "contract": lambda: Outputs(plain=results[0]),
            "snake": lambda: Outputs(active=results[0], snake=snake),
            "last": lambda: Outputs(active=results[0], snake=snake),
            "widen": lambda: Outputs(plain=results[0], active=results[1], snake=snake),
            "unit": lambda: Outputs(plain=results[0], active=results[1], snake=snake),
        }[layer.ending]()
        return cls(
            layer=layer,
            inputs=normal(num_streams, layer.rows_back + rows, layer.num_inputs),
            weights=weights,
            outputs=outputs,
            residual=normal(num_streams, rows, layer.num_outputs) if layer.has_residual else None,
            activation=Activation.GELU if layer.ending == "gelu" else Activation.NONE,
            buffers=tuple(buffers),
        )

    def run(self, convolve: CausalConvolution) -> None:
        convolve(self.inputs, self.weights, self.outputs, residual=self.residual, activation=self.activation)

    def expected(self) -> list[Tensor]:
        """float64, of each buffer's new rows."""
        layer, rows = self.layer, self.buffers[0].shape[1] - GUARD_ROWS
        total = self.weights.bias.double()
        for tap in range(layer.num_taps):
            at = tap * layer.dilation
            total = total + self.inputs[:, at : at + rows].double() @ self.weights.taps[tap].double()
        if self.activation is Activation.GELU:
            total = torch.nn.functional.gelu(total)
        if self.residual is not None:
            total = total + self.residual.double()
        results = [] if self.outputs.plain is None else [total]
        if self.outputs.snake is not None:
            repeats = layer.num_outputs // layer.channels
            sine = torch.sin(total * (self.outputs.snake.half_turns.double().repeat(repeats) * torch.pi))
            results.append(total + self.outputs.snake.amplitude.double().repeat(repeats) * sine * sine)
        return results

    def error(self, convolve: CausalConvolution) -> float:
        """The largest relative error of a result against float64. Raises if rows that are no result were written."""
        for buffer in self.buffers:
            buffer[:, :GUARD_ROWS] = POISON
            buffer[:, GUARD_ROWS:] = float("nan")
        self.run(convolve)
        errors: list[float] = []
        for buffer, truth in zip(self.buffers, self.expected(), strict=True):
            if not bool((buffer[:, :GUARD_ROWS] == POISON).all()):
                raise RuntimeError(f"{self.layer}: rows in front of a stream's results were written")
            errors.append(float((buffer[:, GUARD_ROWS:].double() - truth).norm() / truth.norm()))
        return max(errors)
