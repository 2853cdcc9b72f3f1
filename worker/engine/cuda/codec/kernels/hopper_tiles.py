"""How a convolution is cut up for the kernel of `hopper_conv`. Pure: numbers in, numbers out.

A tile is `rows` x `columns` of the product. Its rows are boxes of `box_rows` successive rows of one stream. The copy
engine clips rows past a stream's end, so a tile may take pieces of several streams.
"""

from __future__ import annotations

from dataclasses import dataclass

# Of four warps, which take a program's tiles in turns: one multiplies while the other finishes.
GROUPS = 2
# Boxes of whole tiles may leave this much more rows empty than quarters do, which cost a variant of the kernel each.
_BOX_WASTE = 0.1
# Weights of 96 outputs that fit into shared memory beside the ring: seven taps of 96 inputs.
_MOST_RESIDENT_ROWS = 672
_LEAST_TURNS = 2
# In a pass each launch of this kernel took 5 microseconds more than in a series of its own launches (H100, passes of 1
# to 32 frames). From here on passes win more than that back: a tile of results for each group of each multiprocessor.
_LEAST_FILLED_TILES = GROUPS
# A program ends after about this long, so that the talker's kernels, which go first, never wait long for a
# multiprocessor. Rates of one of a Hopper GPU's 132, as these kernels reach them.
_PROGRAM_S = 60e-6
_FLOP_PER_S = 4.5e12
_BYTES_PER_S = 25e9


@dataclass(frozen=True, slots=True)
class ConvShape:
    """Of one layer in one pass: `rows` of each stream; sizes as in `causal_conv.ConvWeights`, elements of 16 bits.

    num_stores: 1 or 2, the results that are written of each sum. has_gelu: an epilogue of many instructions.
    """

    num_streams: int
    rows: int
    num_taps: int
    num_inputs: int
    num_outputs: int
    num_stores: int
    has_residual: bool
    has_gelu: bool


@dataclass(frozen=True, slots=True)
class Tile:
    """columns: of the one or two sums that a group of warps holds side by side (a tensor's width is a power of two).

    inputs: worked through in one step. stages: steps that may be loaded ahead. resident: the weights stay in shared
    memory for a program's life.
    """

    rows: int
    columns: tuple[int, int]
    inputs: int
    stages: int
    resident: bool = False

    @property
    def width(self) -> int:
        return sum(self.columns)


@dataclass(frozen=True, slots=True)
class TileCut:
    """The tiles of one product: `streams` boxes of `box_rows` rows each, in programs of `tiles_per_program`.

    Programs that run at the same time, `wave` of them, take neighbouring tiles.
    """

    tile: Tile
    box_rows: int
    num_tiles: int
    wave: int
    tiles_per_program: int

    @property
    def streams(self) -> int:
        return self.tile.rows // self.box_rows

    @property
    def num_programs(self) -> int:
        whole, rest = divmod(self.num_tiles, self.wave * self.tiles_per_program)
        return whole * self.wave + min(rest, self.wave)


def cut_for(shape: ConvShape, multiprocessors: int) -> TileCut | None:
    """None where no tile fits the widths, or where the pass is too small to gain by this kernel."""
    tile = tile_for(shape)
    if tile is None:
        return None
    # Results that are wanted, not tiles: those of short streams are mostly empty.
    filled_tiles = shape.num_streams * shape.rows * shape.num_outputs / (tile.rows * tile.width)
    return cut(shape, tile, multiprocessors) if filled_tiles >= _LEAST_FILLED_TILES * multiprocessors else None


def tile_for(shape: ConvShape) -> Tile | None:
    """None where no tile fits the widths. Inputs that are no multiple of 64 only where the outputs are few."""
    inputs = 64 if shape.num_inputs % 64 == 0 else 32
    if shape.num_inputs % inputs != 0:
        return None
    light = shape.num_stores == 1 and not shape.has_residual and not shape.has_gelu
    match shape.num_outputs:
        case 96 if shape.num_taps * shape.num_inputs <= _MOST_RESIDENT_ROWS:
            return Tile(128, (64, 32), inputs, 6, resident=True)
        case 192 | 384 | 768 if light:
            return Tile(128, (128, 64), inputs, 3)
        case 192:
            return Tile(64, (128, 64), inputs, 4)
        case 96 | 288:
            return Tile(128, (64, 32), inputs, 5)
        case width if width % 64 == 0 and inputs == 64 and shape.has_gelu:
            return Tile(128, (64, 0), inputs, 7)
        case width if width % 128 == 0 and inputs == 64:
            return Tile(128, (128, 0), inputs, 5)
        case _:
            return None


def cut(shape: ConvShape, tile: Tile, multiprocessors: int) -> TileCut:
    box_rows = _box_rows(shape, tile.rows)
    num_boxes = -(-shape.rows // box_rows) * -(-shape.num_streams // (tile.rows // box_rows))
    tiles_per_program = max(_LEAST_TURNS * GROUPS, round(_PROGRAM_S / _tile_s(shape, tile)))
    return TileCut(
        tile=tile,
        box_rows=box_rows,
        num_tiles=num_boxes * (shape.num_outputs // tile.width),
        wave=multiprocessors,
        tiles_per_program=tiles_per_program,
    )


def _tile_s(shape: ConvShape, tile: Tile) -> float:
    flop = 2.0 * tile.rows * tile.width * shape.num_taps * shape.num_inputs
    row_bytes = 2 * (shape.num_inputs + tile.width * (shape.num_stores + shape.has_residual))
    return max(flop / _FLOP_PER_S, tile.rows * row_bytes / _BYTES_PER_S)


def _box_rows(shape: ConvShape, tile_rows: int) -> int:
    """Whole tiles of one stream, or quarters of four where that leaves much less empty."""

    def computed(box_rows: int) -> int:
        streams = tile_rows // box_rows
        return -(-shape.rows // box_rows) * -(-shape.num_streams // streams) * tile_rows

    quarter = tile_rows // 4
    return quarter if computed(tile_rows) > (1 + _BOX_WASTE) * computed(quarter) else tile_rows
