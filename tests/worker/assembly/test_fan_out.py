"""Every consumer gets every block, and none is left waiting when one of them, or the source, fails."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from worker.assembly.fan_out import MOST_WAITING, Abandoned, fan_out

BLOCKS = [bytes([number]) * 3 for number in range(50)]


def nothing() -> None:
    """A check that never objects."""


def test_every_consumer_gets_every_block_in_order() -> None:
    assert fan_out(iter(BLOCKS), [list, b"".join], nothing) == [BLOCKS, b"".join(BLOCKS)]


def test_a_slow_consumer_holds_the_source_back() -> None:
    produced = 0
    release = threading.Event()

    def source() -> Iterator[bytes]:
        nonlocal produced
        for block in BLOCKS:
            produced += 1
            if produced == MOST_WAITING + 2:
                release.set()
            yield block

    def slow(blocks: Iterator[bytes]) -> int:
        first = next(blocks)
        release.wait(5)
        ahead = produced
        assert first == BLOCKS[0]
        assert ahead <= MOST_WAITING + 2
        return 1 + len(list(blocks))

    assert fan_out(source(), [slow], nothing) == [len(BLOCKS)]


def test_the_error_of_one_consumer_ends_all_and_is_the_one_that_is_raised() -> None:
    met: list[BaseException] = []

    def broken(blocks: Iterator[bytes]) -> int:
        next(blocks)
        raise OSError("no space")

    def patient(blocks: Iterator[bytes]) -> int:
        try:
            return len(list(blocks))
        except Abandoned as error:
            met.append(error)
            raise

    with pytest.raises(OSError, match="no space"):
        fan_out(iter(BLOCKS), [patient, broken], nothing)
    assert len(met) == 1


def test_an_error_of_the_source_ends_the_consumers() -> None:
    def source() -> Iterator[bytes]:
        yield b"a"
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        fan_out(source(), [list, list], nothing)


def test_an_objection_ends_everything_even_while_a_consumer_is_busy_with_its_end() -> None:
    asked = 0

    def objects() -> None:
        nonlocal asked
        asked += 1
        if asked > 1:
            raise KeyError("not wanted any more")

    stop = threading.Event()

    def never_done(blocks: Iterator[bytes]) -> int:
        for _ in blocks:
            pass
        stop.wait(1.2)
        return 0

    with pytest.raises(KeyError):
        fan_out(iter(BLOCKS), [never_done], objects)


def test_a_consumer_that_ends_early_is_an_error() -> None:
    def early(blocks: Iterator[bytes]) -> int:
        return len(next(blocks))

    with pytest.raises(RuntimeError, match="ended before"):
        fan_out(iter(BLOCKS), [early], nothing)
