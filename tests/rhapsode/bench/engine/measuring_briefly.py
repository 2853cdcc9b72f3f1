"""`rhapsode.bench.engine.measuring`, where a window takes half a second, and random weights have the tiny size.

Eight seconds of a busy core say no more of what is reported. The published sizes take minutes to draw on a CPU.
"""

from rhapsode.bench.engine import measuring
from tests.tiny_checkpoint import tiny_shape
from worker.engine.random_checkpoint import directory
from worker.engine.random_checkpoint.shapes import Shape


def shape_of(size: str, variant: str) -> Shape:
    return tiny_shape(variant)


if __name__ == "__main__":
    measuring.MOST_WINDOW_S = 0.5
    directory.shape_of = shape_of
    measuring.main()
