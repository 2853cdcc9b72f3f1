"""The codec's convolutions on a Hopper GPU: the kernel for any device against the choice of a Hopper GPU.

    python benchmarks/engine/codec_convolutions.py

Layers are those of a decoder of the published dimensions with random weights, each timed in a graph of its own, with
both errors against float64. Then whole passes, and short kernels of a stream that goes first, alone and beside a pass.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.engine.decoder_layers import PUBLISHED, Call, decoder_layers
from worker.engine.cuda.codec.convolution import Convolution, convolution_for
from worker.engine.cuda.codec.kernels.causal_conv import causal_conv
from worker.engine.cuda.codec.pass_runner import DevicePasses
from worker.engine.cuda.codec.plan import CodecPlan, PassShape
from worker.engine.cuda.codec.weights import CodecWeights, Placement
from worker.engine.model.codec_decoder import CodecDecoder

CUDA = torch.device("cuda")
LARGE = PassShape(16, 100)
SHAPES = (
    *(
        PassShape(*each)
        for each in ((1, 1), (4, 1), (16, 1), (64, 1), (1, 8), (8, 4), (1, 25), (4, 25), (32, 8), (8, 150))
    ),
    LARGE,
)
FRAME_S = 0.08
SHORT_KERNELS = 200


def graph_of(
    call: Callable[[], object], launches: int, stream: torch.cuda.Stream | None = None
) -> torch.cuda.CUDAGraph:
    """Without the garbage collection that `torch.cuda.graph` begins with: there are hundreds of graphs here."""
    stream = stream or torch.cuda.Stream()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        call()
        stream.synchronize()
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            for _ in range(launches):
                call()
        finally:
            graph.capture_end()
    return graph


def median_ms(graph: torch.cuda.CUDAGraph, repeats: int = 9) -> float:
    graph.replay()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(repeats + 1)]
    marks[0].record()
    for mark in marks[1:]:
        graph.replay()
        mark.record()
    torch.cuda.synchronize()
    times = sorted(a.elapsed_time(b) for a, b in itertools.pairwise(marks))
    return times[repeats // 2]


def print_layers(shape: PassShape, hopper: Convolution) -> None:
    print(f"\npass {shape.num_streams}x{shape.num_frames}, a launch: any device, Hopper, ms; relative errors")
    sums = [0.0, 0.0]
    for layer in decoder_layers():
        call = Call.drawn(layer, shape.num_streams, shape.num_frames * layer.rows_per_frame)
        both = [
            median_ms(graph_of(lambda call=call, each=each: call.run(each), 8)) / 8 for each in (causal_conv, hopper)
        ]
        errors = [call.error(each) for each in (causal_conv, hopper)]
        sums = [total + layer.count * ms for total, ms in zip(sums, both, strict=True)]
        name = f"{layer.name:<12}{layer.num_inputs:>5} -> {layer.num_outputs:<5}"
        print(f"{name}{both[0]:>9.4f}{both[1]:>9.4f}   {errors[0]:.1e} {errors[1]:.1e}")
    print(f"all {sums[0]:.3f} {sums[1]:.3f}")


def random_decoder() -> CodecDecoder:
    """The published dimensions, quiet enough that no sample is clamped."""
    generator = torch.Generator("cuda").manual_seed(3)

    def drawn(name: str, shape: torch.Size) -> Tensor:
        leaf = name.rpartition(".")[2]
        if leaf == "cluster_usage" or ("norm" in name and leaf == "weight"):
            return torch.ones(shape, device="cuda")
        values = torch.randn(shape, generator=generator, device="cuda")
        if leaf in {"alpha", "beta", "bias", "scale", "gamma"}:
            return 0.1 * values
        gain = 0.02 if name == "decoder.6.conv.weight" else 0.7
        return gain * values / max(1, shape[1:].numel()) ** 0.5

    with torch.device("meta"):
        shapes = {name: tensor.shape for name, tensor in CodecDecoder(PUBLISHED).state_dict().items()}
    return CodecDecoder.load(PUBLISHED, {name: drawn(name, shape) for name, shape in shapes.items()}, "random").cuda()


def captured_pass(
    weights: CodecWeights, shape: PassShape, convolve: Convolution, stream: torch.cuda.Stream | None = None
) -> tuple[DevicePasses, torch.cuda.CUDAGraph]:
    """The graph needs the passes' memory."""
    passes = DevicePasses(weights, CodecPlan((shape,), frozenset(), num_streams=8), convolve)
    return passes, graph_of(lambda: passes.run(shape), 1, stream)


def print_passes(weights: CodecWeights, hopper: Convolution) -> None:
    print("\nwhole passes: any device, Hopper, ms (audio seconds a second)")
    for shape in SHAPES:
        line = f"{shape.num_streams:>4}x{shape.num_frames:<4}"
        for convolve in (causal_conv, hopper):
            passes, graph = captured_pass(weights, shape, convolve)
            ms = median_ms(graph)
            line += f"{ms:>9.3f} ({shape.size * FRAME_S / ms * 1e3:.0f})"
            del graph, passes
            torch.cuda.empty_cache()
        print(line)


def print_beside(weights: CodecWeights, hopper: Convolution) -> None:
    """What a stream that goes first, as the talker's does, waits for programs of a pass."""
    first, behind = torch.cuda.Stream(priority=-5), torch.cuda.Stream(priority=0)
    x, w = (torch.randn(rows, 2048, device=CUDA, dtype=torch.float16) for rows in (256, 2048))
    y = torch.empty_like(x)
    short = graph_of(lambda: torch.mm(x, w, out=y), SHORT_KERNELS, first)

    def short_ms() -> float:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        with torch.cuda.stream(first):
            begin.record()
            short.replay()
            end.record()
        end.synchronize()
        return begin.elapsed_time(end)

    short_ms()
    print(f"\n{SHORT_KERNELS} short kernels, ms: alone {min(short_ms() for _ in range(5)):.2f}")
    for name, convolve in (("any device", causal_conv), ("Hopper", hopper)):
        passes, graph = captured_pass(weights, LARGE, convolve, behind)
        waits: list[float] = []
        for _ in range(5):
            with torch.cuda.stream(behind):
                graph.replay()
                graph.replay()
            time.sleep(0.004)  # the pass is under way
            waits.append(short_ms())
            torch.cuda.synchronize()
        print(f"beside passes by {name}: {sorted(waits)[2]:.2f}")
        del graph, passes
        torch.cuda.empty_cache()


@torch.inference_mode()
def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    hopper = convolution_for(CUDA, torch.float16)
    if hopper is causal_conv:
        raise SystemExit("this GPU is no Hopper GPU: it has the kernel for any device alone")
    for shape in SHAPES:
        print_layers(shape, hopper)
        torch.cuda.empty_cache()
    weights = CodecWeights.of(random_decoder(), Placement(CUDA, torch.float16))
    print_passes(weights, hopper)
    print_beside(weights, hopper)


if __name__ == "__main__":
    main()
