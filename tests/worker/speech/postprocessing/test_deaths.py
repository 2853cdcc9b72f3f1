"""Post-processor processes die, hang, or cannot be started: what waits for one notices nothing but the time it
takes.
"""

from __future__ import annotations

import hashlib
import os
import resource
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from storage.ids import TenantId
from storage.runtime.observability.metrics import REGISTRY
from tests.process_tree import is_alive
from tests.threads import BoundedExecutor
from tests.waiting import until
from tests.worker.speech.postprocessing.eventful_text import DeadlyText, WaitingText
from tests.worker.speech.postprocessing.speech_to_finish import HEADER, REST, TEXT, key, speech, utterance
from worker.speech.postprocessing.child import PostProcessorUnusable
from worker.speech.postprocessing.dispatch import PostProcessorDied, PostProcessorsClosed
from worker.speech.postprocessing.in_process import InProcessPostProcessor
from worker.speech.postprocessing.interface import SpeechToStore, StoredSpeech
from worker.speech.postprocessing.pool import PostProcessorPool

STATE_S = 120.0
"""For what comes about by itself, however busy the machine is."""


@pytest.fixture(autouse=True)
def patient_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine may take its time to start a process again."""
    monkeypatch.setattr("worker.speech.postprocessing.dispatch.QUEUE_S", STATE_S)


def deaths() -> float:
    """Of all post-processors that this process has started."""
    return REGISTRY.get_sample_value("rhapsode_postprocessor_deaths_total") or 0.0


@contextmanager
def no_descriptors() -> Generator[None]:
    """What is open stays open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_who_was_beside_a_call_that_kills_is_done_alone(environment: dict[str, str], tmp_path: Path) -> None:
    pool = PostProcessorPool(1, 4, "folder", "test", environment)
    pool.start()
    names, before = ["first", "second", "third"], deaths()

    with BoundedExecutor(4) as threads:
        waiting = [replace(utterance(), text=WaitingText(TEXT, tmp_path, name)) for name in names]
        innocent = [threads.submit(pool.judge, each, *REST) for each in waiting]
        until(lambda: len(os.listdir(tmp_path)) == len(names))
        guilty = threads.submit(pool.judge, replace(utterance(), text=DeadlyText(TEXT)), *REST)
        until(lambda: deaths() > before)
        (tmp_path / "go").touch()

        assert all(each.result().passed for each in innocent)
        with pytest.raises(PostProcessorDied, match="3 post-processor processes"):
            guilty.result()
    assert [len(list(tmp_path.glob(f"{name}-*"))) for name in names] == [2, 2, 2]
    assert deaths() == before + 3
    assert pool.judge(utterance(), *REST).passed
    pool.close()


def test_a_pool_that_is_closed_waits_for_nothing(environment: dict[str, str], tmp_path: Path) -> None:
    pool = PostProcessorPool(1, 1, "folder", "test", environment)
    pool.start()
    (pid,) = pool.pids

    with BoundedExecutor(2) as threads:
        waiting = replace(utterance(), text=WaitingText(TEXT, tmp_path, "waiting"))
        under_way = threads.submit(pool.judge, waiting, *REST)
        until(lambda: os.listdir(tmp_path))
        in_line = threads.submit(pool.judge, utterance(), *REST)
        os.kill(pid, signal.SIGSTOP)
        pool.close()

        for call in (under_way, in_line):
            with pytest.raises(PostProcessorsClosed):
                call.result()
    assert not is_alive(pid)


def test_a_process_that_cannot_be_made_for_want_of_descriptors_is_made_later(
    environment: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    pool = PostProcessorPool(1, 1, "folder", "test", environment)
    with no_descriptors(), pytest.raises(PostProcessorUnusable, match="Too many open files"):
        pool.start()
    pool = PostProcessorPool(1, 1, "folder", "test", environment)
    pool.start()

    with BoundedExecutor(1) as threads:
        with no_descriptors():
            os.kill(pool.pids[0], signal.SIGKILL)
            verdict = threads.submit(pool.judge, utterance(), *REST)
            until(lambda: "cannot start" in caplog.text)

        assert verdict.result().passed
    pool.close()


def test_many_threads_are_served_while_processes_are_killed_and_every_object_is_whole(
    pool: PostProcessorPool, own: InProcessPostProcessor, folder: Path
) -> None:
    expected = own.store(key("expected"), SpeechToStore(HEADER, speech()))
    before = deaths()
    names = [f"kill-{number}" for number in range(120)]

    # By those who store: on a busy machine all is stored before a thread beside them has looked.
    def store_and_kill(name: str) -> StoredSpeech:
        stored = pool.store(key(name), SpeechToStore(HEADER, speech()))
        if name in (names[20], names[50]):
            for pid in pool.pids[:1]:
                os.kill(pid, signal.SIGKILL)
        return stored

    with BoundedExecutor(6) as threads:
        results = list(threads.map(store_and_kill, names))

    assert set(results) == {expected}
    assert {(folder / "objects" / key(name)).stat().st_size for name in names} == {expected.num_bytes}
    until(lambda: deaths() > before)


def test_packs_are_whole_though_those_who_write_them_are_killed(pool: PostProcessorPool, folder: Path) -> None:
    before, tenant = deaths(), TenantId("killed")

    def store_and_kill(number: int) -> tuple[StoredSpeech, ...]:
        headers = [replace(HEADER, job=f"job-{number}", index=index) for index in (1, 2, 3)]
        if number in (10, 25):
            # While others are written.
            os.kill(pool.pids[0], signal.SIGKILL)
        return pool.store_pack(tenant, [SpeechToStore(header, speech()) for header in headers])

    with BoundedExecutor(6) as threads:
        packs = list(threads.map(store_and_kill, range(40)))

    for number, stored in enumerate(packs):
        (path,) = (folder / f"objects/jobs/{tenant}/job-{number}/packs").iterdir()
        data = path.read_bytes()
        places = [each.place for each in stored if each.place]
        files = [data[place.offset : place.offset + place.num_bytes] for place in places]
        assert [hashlib.sha256(file).hexdigest() for file in files] == [each.sha256 for each in stored]
        assert len(data) == sum(each.num_bytes for each in stored)
    until(lambda: deaths() > before)


def test_a_call_that_waits_for_a_channel_gets_the_next_that_is_idle(environment: dict[str, str]) -> None:
    """Fewer channels than callers, as while a process is started again."""
    pool = PostProcessorPool(1, 1, "folder", "test", environment)
    pool.start()

    with BoundedExecutor(6) as threads:
        verdicts = [threads.submit(pool.judge, utterance("Short."), *REST) for _ in range(300)]

    assert all(verdict.result().checks for verdict in verdicts)
    pool.close()


def test_a_process_that_is_killed_while_idle_is_replaced_unnoticed(pool: PostProcessorPool) -> None:
    for pid in pool.pids:
        os.kill(pid, signal.SIGKILL)

    assert pool.judge(utterance(), *REST).passed


def test_a_process_that_is_killed_while_idle_is_replaced_before_anybody_asks(pool: PostProcessorPool) -> None:
    killed, before = pool.pids, deaths()
    for pid in killed:
        os.kill(pid, signal.SIGKILL)

    until(lambda: len(pool.pids) == len(killed) and not set(pool.pids) & set(killed))

    assert deaths() == before + len(killed)


def test_a_process_that_hangs_is_killed_and_its_call_done_by_another(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.speech.postprocessing.child.PATIENCE_S", 1)
    pool = PostProcessorPool(1, 1, "folder", "test", environment)
    pool.start()
    # The next one may take its time.
    monkeypatch.undo()
    (hanging,) = pool.pids
    os.kill(hanging, signal.SIGSTOP)

    assert pool.judge(utterance(), *REST).passed
    assert hanging not in pool.pids
    with pytest.raises(ProcessLookupError):
        os.kill(hanging, 0)
    pool.close()


def open_files() -> Counter[str]:
    """What this process has open: pipes and sockets by their inodes, of which the kernel gives each a new one."""
    files: Counter[str] = Counter()
    for descriptor in os.listdir("/proc/self/fd"):
        # The listing's own is closed again.
        with suppress(FileNotFoundError):
            files[os.readlink(f"/proc/self/fd/{descriptor}")] += 1
    return files


def test_processes_end_with_their_worker_and_leave_no_descriptor(environment: dict[str, str]) -> None:
    # An earlier test's threads may still let go of theirs in between: only what has come counts.
    open_before = open_files()
    pool = PostProcessorPool(2, 8, "folder", "test", environment)
    pool.start()
    pids = pool.pids

    pool.close()

    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert not open_files() - open_before
    with pytest.raises(PostProcessorsClosed):
        pool.judge(utterance(), *REST)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process that is stopped stays")
def test_a_process_that_is_stopped_ends_with_a_worker_that_is_killed(environment: dict[str, str]) -> None:
    started = """if True:
        from worker.speech.postprocessing.pool import PostProcessorPool
        pool = PostProcessorPool(1, 1, "folder", "test")
        pool.start()
        print(*pool.pids, flush=True)
        input()
    """
    command = (sys.executable, "-c", started)
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=os.environ | environment) as worker:
        assert worker.stdout is not None
        postprocessor = int(worker.stdout.readline())
        os.kill(postprocessor, signal.SIGSTOP)

        worker.kill()

    until(lambda: not is_alive(postprocessor))
