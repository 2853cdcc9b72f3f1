"""Which convolutions Hopper's kernel takes, and how it cuts them up."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.engine.cuda.codec.decoder_layers import Layer, decoder_layers
from worker.engine.cuda.codec.kernels.hopper_tiles import GROUPS, ConvShape, Tile, TileCut, cut, cut_for, tile_for

MULTIPROCESSORS = 132
SHARED_BYTES = 227 * 1024
BARRIER_BYTES = 1024


def convolution(
    taps: int, inputs: int, outputs: int, stores: int = 1, *, residual: bool = False, gelu: bool = False
) -> ConvShape:
    return ConvShape(16, 100, taps, inputs, outputs, stores, residual, gelu)


def in_pass(layer: Layer, streams: int, frames: int) -> ConvShape:
    return ConvShape(
        streams,
        frames * layer.rows_per_frame,
        layer.num_taps,
        layer.num_inputs,
        layer.num_outputs,
        layer.num_stores,
        layer.has_residual,
        layer.ending == "gelu",
    )


LAYERS = decoder_layers()
PUBLISHED = [in_pass(layer, 16, 100) for layer in LAYERS]


def shared_bytes(shape: ConvShape, tile: Tile) -> int:
    weight_steps = shape.num_taps * shape.num_inputs // tile.inputs if tile.resident else tile.stages
    ring = tile.stages * tile.rows * tile.inputs + weight_steps * tile.inputs * tile.width
    return 2 * (ring + GROUPS * tile.rows * tile.width)


@pytest.mark.parametrize("shape", PUBLISHED)
def test_every_layer_of_the_published_decoder_has_a_tile_that_fits(shape: ConvShape) -> None:
    tile = tile_for(shape)

    assert tile is not None
    assert shape.num_outputs % tile.width == 0
    assert shape.num_inputs % tile.inputs == 0
    assert shared_bytes(shape, tile) + BARRIER_BYTES <= SHARED_BYTES


@pytest.mark.parametrize(
    ("shape", "has_tile"),
    [
        (convolution(3, 192, 192), True),
        (convolution(1, 192, 384), True),
        (convolution(1, 192, 768, gelu=True), True),
        (convolution(1, 768, 192, residual=True), True),
        (convolution(7, 192, 288), True),
        (convolution(2, 288, 1152, 2), False),
        (convolution(7, 144, 144), False),
        (convolution(2, 144, 360, 2), False),
        (convolution(7, 72, 72), False),
        (convolution(2, 72, 144, 2), False),
        (convolution(7, 36, 36), False),
        (convolution(7, 18, 18), False),
    ],
)
def test_of_the_small_voice_only_the_layers_before_its_blocks_have_one(shape: ConvShape, has_tile: bool) -> None:
    tile = tile_for(shape)

    assert (tile is not None) == has_tile
    assert tile is None or shared_bytes(shape, tile) + BARRIER_BYTES <= SHARED_BYTES


@pytest.mark.parametrize(("streams", "frames"), [(1, 1), (4, 1), (16, 1), (1, 8)])
def test_small_passes_stay_with_the_kernel_for_any_device(streams: int, frames: int) -> None:
    for layer in LAYERS:
        assert cut_for(in_pass(layer, streams, frames), MULTIPROCESSORS) is None


def test_the_last_block_of_longer_passes_is_hoppers() -> None:
    last = [layer for layer in LAYERS if layer.num_outputs == 96]

    for streams, frames in ((1, 25), (4, 25), (32, 8), (16, 100)):
        for layer in last:
            assert cut_for(in_pass(layer, streams, frames), MULTIPROCESSORS) is not None


def tiles_taken(pieces: TileCut) -> list[int]:
    """As the kernel's programs and their groups count them."""
    taken: list[int] = []
    for program in range(pieces.num_programs):
        round_of = program // pieces.wave
        first = round_of * pieces.wave * pieces.tiles_per_program + program % pieces.wave
        end = min(pieces.num_tiles, (round_of + 1) * pieces.wave * pieces.tiles_per_program)
        for group in range(GROUPS):
            taken += range(first + group * pieces.wave, end, GROUPS * pieces.wave)
    return taken


@given(
    shape=st.sampled_from(PUBLISHED),
    num_streams=st.integers(1, 70),
    rows=st.integers(1, 4000),
    multiprocessors=st.integers(1, 140),
)
def test_a_cut_covers_every_result_and_each_tile_once(
    shape: ConvShape, num_streams: int, rows: int, multiprocessors: int
) -> None:
    shape = replace(shape, num_streams=num_streams, rows=rows)
    tile = tile_for(shape)
    assert tile is not None

    pieces = cut(shape, tile, multiprocessors)

    assert sorted(tiles_taken(pieces)) == list(range(pieces.num_tiles))
    boxes, columns = divmod(pieces.num_tiles, shape.num_outputs // tile.width)
    assert columns == 0
    assert boxes == -(-rows // pieces.box_rows) * -(-num_streams // pieces.streams)
