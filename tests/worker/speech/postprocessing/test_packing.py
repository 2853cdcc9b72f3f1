"""Who is stored together: those of a job that come within a second, and none waits where none comes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.errors import StoreUnavailable
from storage.ids import JobId, TenantId
from storage.jobs.work_items import Lease
from storage.segments.packs import MAX_SEGMENTS
from tests.property_tests import examples
from tests.threads import BoundedExecutor
from tests.waiting import until
from tests.worker.speech.postprocessing.speech_to_finish import HEADER, speech
from worker.speech.postprocessing.interface import PackPart, SpeechToStore, StoredSpeech
from worker.speech.postprocessing.packing import SegmentPacker

NEVER_S = 3600.0
PART = SpeechToStore(HEADER, speech("Hm."))


def lease(index: int, job: str = "job_a") -> Lease:
    return Lease(JobId(job), TenantId("local"), str(index), 100 + index)


class Store:
    """Keeps what it is given, or fails. Each part is told apart by being one object."""

    def __init__(self, fails: bool = False) -> None:
        self.packs: list[list[PackPart]] = []
        self._fails = fails

    def __call__(self, parts: Sequence[PackPart]) -> tuple[StoredSpeech, ...]:
        self.packs.append(list(parts))
        if self._fails:
            raise StoreUnavailable("the store is down")
        return tuple(StoredSpeech(number, "", id(part)) for number, part in enumerate(parts))


class Desk:
    """Items of jobs that are under way from the first, and come to be stored one after the other."""

    def __init__(self, packer: SegmentPacker, store: Store, threads: BoundedExecutor) -> None:
        self.packer = packer
        self.store = store
        self._threads = threads
        self._under_way: dict[Lease, ExitStack] = {}

    def begin(self, *leases: Lease) -> None:
        for each in leases:
            self._under_way[each] = ExitStack()
            self._under_way[each].enter_context(self.packer.under_way(each))

    def end(self, each: Lease) -> None:
        self._under_way.pop(each).close()

    def bring(self, each: Lease) -> Future[bool]:
        """Whether it was stored with others, as itself."""
        arrived = threading.Event()
        outcome = self._threads.submit(self._bring, each, arrived)
        assert arrived.wait(60)
        return outcome

    def _bring(self, each: Lease, arrived: threading.Event) -> bool:
        part = SpeechToStore(HEADER, PART.speech)
        arrived.set()
        stored = self.packer.stored_with_others(each, part, self.store)
        assert stored is None or stored.num_samples == id(part)
        return stored is not None


@pytest.fixture
def threads() -> Iterator[BoundedExecutor]:
    with BoundedExecutor(64) as threads:
        yield threads


def waiting(desk: Desk) -> int:
    return desk.packer.waiting


def flowing(desk: Desk, *leases: Lease) -> None:
    """Items of a job of which one has come just now; it is stored by itself."""
    desk.begin(lease(99), *leases)
    assert desk.bring(lease(99)).result(60) is False
    desk.end(lease(99))


def test_those_that_come_together_are_stored_together_once_no_other_is_to_come(threads: BoundedExecutor) -> None:
    desk = Desk(SegmentPacker(64, NEVER_S), Store(), threads)
    flowing(desk, lease(1), lease(2), lease(3))

    first, second = desk.bring(lease(1)), desk.bring(lease(2))
    until(lambda: waiting(desk) == 2)
    assert desk.store.packs == []
    third = desk.bring(lease(3))

    assert [each.result(60) for each in (first, second, third)] == [True] * 3
    assert [len(pack) for pack in desk.store.packs] == [3]
    assert waiting(desk) == 0


def test_one_that_fails_beforehand_is_not_waited_for(threads: BoundedExecutor) -> None:
    desk = Desk(SegmentPacker(64, NEVER_S), Store(), threads)
    flowing(desk, lease(1), lease(2), lease(3))

    both = desk.bring(lease(1)), desk.bring(lease(2))
    until(lambda: waiting(desk) == 2)
    desk.end(lease(3))

    assert [each.result(60) for each in both] == [True, True]


def test_a_wait_is_over_in_time_though_another_is_to_come(threads: BoundedExecutor) -> None:
    desk = Desk(SegmentPacker(64, 0.2), Store(), threads)
    flowing(desk, lease(1), lease(2), lease(3))

    assert [each.result(60) for each in (desk.bring(lease(1)), desk.bring(lease(2)))] == [True, True]
    assert [len(pack) for pack in desk.store.packs] == [2]


def test_one_that_nobody_joined_is_stored_by_itself(threads: BoundedExecutor) -> None:
    desk = Desk(SegmentPacker(64, 0.05), Store(), threads)
    flowing(desk, lease(1), lease(2))

    assert desk.bring(lease(1)).result(60) is False
    assert desk.store.packs == []


def test_the_first_segment_and_the_only_one_and_a_rare_one_wait_for_nobody(threads: BoundedExecutor) -> None:
    desk = Desk(SegmentPacker(64, NEVER_S), Store(), threads)
    flowing(desk, lease(0), lease(1))
    assert desk.bring(lease(0)).result(60) is False
    assert desk.bring(lease(1)).result(60) is False

    rare = Desk(SegmentPacker(64, 0.0), Store(), threads)
    rare.begin(lease(1), lease(2), lease(3))
    assert rare.bring(lease(1)).result(60) is False
    time.sleep(0.002)
    assert rare.bring(lease(2)).result(60) is False


def test_jobs_do_not_share_a_pack(threads: BoundedExecutor) -> None:
    desk = Desk(SegmentPacker(64, NEVER_S), Store(), threads)
    flowing(desk, lease(1), lease(2))
    others = [lease(index, "job_b") for index in (1, 2, 3)]
    desk.begin(*others)
    assert desk.bring(others[0]).result(60) is False

    mixed = [desk.bring(each) for each in (lease(1), others[1])]
    until(lambda: waiting(desk) == 2)
    mixed += [desk.bring(each) for each in (lease(2), others[2])]

    assert [each.result(60) for each in mixed] == [True] * 4
    assert [len(pack) for pack in desk.store.packs] == [2, 2]


def test_a_full_pack_and_the_last_place_to_wait_in_are_not_waited_beyond(threads: BoundedExecutor) -> None:
    desk = Desk(SegmentPacker(64, NEVER_S), Store(), threads)
    leases = [lease(index) for index in range(1, MAX_SEGMENTS + 2)]
    flowing(desk, *leases)
    full = [desk.bring(each) for each in leases[:MAX_SEGMENTS]]
    assert all(each.result(60) for each in full)

    narrow = Desk(SegmentPacker(2, NEVER_S), Store(), threads)
    flowing(narrow, *leases[:3])
    assert [each.result(60) for each in [narrow.bring(each) for each in leases[:2]]] == [True, True]


def test_a_pack_that_cannot_be_stored_leaves_each_to_itself(threads: BoundedExecutor) -> None:
    desk = Desk(SegmentPacker(64, NEVER_S), Store(fails=True), threads)
    flowing(desk, lease(1), lease(2))

    outcomes = [desk.bring(each) for each in (lease(1), lease(2))]

    assert [each.result(60) for each in outcomes] == [False, False]
    assert len(desk.store.packs) == 1


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(1, 40), st.integers(1, 3), st.integers(0, 20), st.booleans())
def test_whoever_comes_in_whatever_order_is_stored_once_and_nobody_is_left_waiting(
    num_segments: int, num_jobs: int, places: int, fails: bool
) -> None:
    packer, store = SegmentPacker(places, 0.02), Store(fails)

    def run(number: int) -> bool:
        each = lease(number, f"job_{number % num_jobs}")
        with packer.under_way(each):
            part = SpeechToStore(HEADER, PART.speech)
            stored = packer.stored_with_others(each, part, store)
            assert stored is None or stored.num_samples == id(part)
            return stored is not None

    with BoundedExecutor(16) as threads:
        packed = list(threads.map(run, range(num_segments)))

    assert sum(packed) == (0 if fails else sum(len(pack) for pack in store.packs))
    assert all(1 < len(pack) <= MAX_SEGMENTS for pack in store.packs)
    assert packer.waiting == 0
