"""A real S3 server behind a network that fails: what the store says, and that no call waits for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from storage.errors import StoreUnavailable
from storage.objects.call_places import CallPlaces
from storage.objects.patience import FOR_REQUESTS, FOR_WORK, StoreTimeouts
from storage.objects.s3_client import connect_s3
from storage.objects.s3_store import S3ArtifactStore
from tests.storage.objects.embedded_s3 import EmbeddedS3, store_at
from tests.storage.objects.faulty_proxy import FaultyProxy, Mode, faulty_proxy
from tests.threads import BoundedExecutor, join_in_time

KEY = "jobs/local/job_01k/artifacts/3/narration.wav"
MIB = 1024 * 1024
IMPATIENT = replace(FOR_REQUESTS, connect_s=0.5, read_s=0.5)
SWEPT_S = 7


@pytest.fixture
def proxy(weed: EmbeddedS3) -> Iterator[FaultyProxy]:
    with faulty_proxy(weed.endpoint_url) as proxy:
        yield proxy


@contextmanager
def over(proxy: FaultyProxy, weed: EmbeddedS3, prefix: str, patience: StoreTimeouts) -> Generator[S3ArtifactStore]:
    client = connect_s3(proxy.address, None, *weed.credentials, patience=patience)
    yield store_at(client, prefix, weed.credentials, patience=patience)
    client.close()


@pytest.mark.parametrize("mode", [Mode.STOPPED, Mode.BUSY, Mode.PAGE, Mode.SILENT], ids=lambda mode: mode.value)
def test_a_store_that_fails_is_unavailable_until_it_is_well(proxy: FaultyProxy, weed: EmbeddedS3, mode: Mode) -> None:
    prefix = f"test/faults/{mode.value}"
    with over(proxy, weed, prefix, FOR_WORK) as patient, over(proxy, weed, prefix, IMPATIENT) as store:
        patient.put(KEY, b"before")
        proxy.become(mode)

        calls = (
            partial(store.get, KEY),
            partial(store.get_range, KEY, 0, 3),
            lambda: b"".join(store.read_stream(KEY)),
            partial(store.put, f"{KEY}-2", b"during"),
            lambda: list(store.list("jobs/")),
            partial(store.delete_prefix, "jobs/"),
            lambda: store.put_stream(f"{KEY}-3", [bytes(MIB)] * 9),
        )
        with BoundedExecutor(len(calls)) as at_once:
            outcomes = [at_once.submit(call) for call in calls]
        for outcome in outcomes:
            assert isinstance(outcome.exception(), StoreUnavailable), outcome.exception()

        proxy.become(Mode.WELL)
        assert patient.get(KEY) == b"before"
        assert patient.get_range(KEY, 2, 3) == b"for"
        assert patient.put_stream(f"{KEY}-4", [bytes(MIB)] * 9).bytes == 9 * MIB


class RangesIgnored(BaseHTTPRequestHandler):
    """Sends the whole object, whatever part of it is asked for."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("ETag", '"0"')
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"before")

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on the terminal of the tests."""


def test_a_server_that_knows_no_ranges_gives_no_wrong_stretch() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), RangesIgnored) as server:
        threading.Thread(target=server.serve_forever).start()
        client = connect_s3(f"http://127.0.0.1:{server.server_port}", None, "any", "any", patience=IMPATIENT)
        try:
            with pytest.raises(StoreUnavailable, match="non-partial"):
                store_at(client, "", ("any", "any"), patience=IMPATIENT).get_range(KEY, 2, 3)
        finally:
            client.close()
            server.shutdown()


def test_what_comes_too_slowly_is_given_up(proxy: FaultyProxy, weed: EmbeddedS3) -> None:
    """Though something comes well within every time-out."""
    with over(proxy, weed, "test/faults/trickle", replace(IMPATIENT, connect_s=5, read_s=5)) as store:
        store.put(KEY, bytes(MIB))
        proxy.become(Mode.TRICKLING)

        with BoundedExecutor(2) as at_once:
            reads = [at_once.submit(store.get, KEY), at_once.submit(lambda: b"".join(store.read_stream(KEY)))]
        for read in reads:
            with pytest.raises(StoreUnavailable, match="too slowly"):
                read.result()


def test_a_slow_upload_is_waited_for_as_long_as_it_goes_on(proxy: FaultyProxy, weed: EmbeddedS3) -> None:
    """Each part takes longer than it may to send something; then there is time until all that is under way is there."""
    with over(proxy, weed, "test/faults/slow", replace(FOR_WORK, connect_s=0.5, tries=1)) as store:
        proxy.become(Mode.SLOW_UPLOADS)

        store.put_stream(KEY, [bytes([number]) * MIB for number in range(9)])

        proxy.become(Mode.WELL)
        with over(proxy, weed, "test/faults/slow", FOR_WORK) as patient:
            assert patient.get(KEY) == b"".join(bytes([number]) * MIB for number in range(9))


def test_an_upload_that_broke_off_is_swept_and_one_that_goes_on_is_not(proxy: FaultyProxy, weed: EmbeddedS3) -> None:
    with over(proxy, weed, "test/faults/swept", FOR_WORK) as store:

        def lost_on_the_way() -> Iterator[bytes]:
            yield bytes(17 * MIB)
            proxy.become(Mode.STOPPED)
            yield bytes(8 * MIB)

        def long() -> Iterator[bytes]:
            yield bytes(17 * MIB)
            assert store.sweep_temporary(older_than_s=SWEPT_S) == 1
            yield bytes(8 * MIB)

        with pytest.raises(StoreUnavailable):
            store.put_stream(KEY, lost_on_the_way())
        proxy.become(Mode.WELL)
        time.sleep(SWEPT_S)

        assert store.put_stream(KEY, long()).bytes == 25 * MIB
        assert store.sweep_temporary(older_than_s=-60) == 0


def test_threads_that_wait_for_the_same_question_hear_together_that_no_server_answers(
    weed: EmbeddedS3, proxy: FaultyProxy
) -> None:
    """Each for itself would wait for all that came before it."""
    client = connect_s3(proxy.address, None, *weed.credentials, patience=IMPATIENT)
    store = store_at(client, "test/faults/probe", weed.credentials, patience=IMPATIENT)
    proxy.become(Mode.SILENT)
    began_s = time.monotonic()
    with pytest.raises(StoreUnavailable):
        store.put(KEY, b"alone")
    alone_s = time.monotonic() - began_s

    def put(number: int) -> Exception | None:
        try:
            store.put(f"{KEY}-{number}", b"in company")
        except StoreUnavailable as error:
            return error
        return None

    began_s = time.monotonic()
    with BoundedExecutor(12) as at_once:
        errors = list(at_once.map(put, range(12)))
    assert all(errors)
    assert time.monotonic() - began_s < 6 * alone_s
    client.close()


def test_a_store_that_answers_nothing_takes_no_more_threads_than_it_has_places() -> None:
    places, inside, end = CallPlaces(3, stuck_s=0.2), threading.Semaphore(0), threading.Event()

    def stuck() -> None:
        with places.place():
            inside.release()
            end.wait()

    threads = [threading.Thread(target=stuck) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in threads:
        inside.acquire()

    with pytest.raises(StoreUnavailable), places.place():
        pass

    end.set()
    join_in_time(*threads)
    with places.place():
        pass


def test_while_calls_are_answered_everybody_gets_a_place() -> None:
    places, done = CallPlaces(2, stuck_s=2), []

    def call(number: int) -> None:
        with places.place():
            time.sleep(0.05)
        done.append(number)

    with BoundedExecutor(30) as at_once:
        list(at_once.map(call, range(30)))

    assert sorted(done) == list(range(30))
