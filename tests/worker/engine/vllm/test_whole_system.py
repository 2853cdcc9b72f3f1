"""A narration through API, queue, worker, engine process and store, by one engine and by the other."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from rhapsode import Rhapsode
from rhapsode.client.request_options import SamplingFields
from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from tests.environment import without_settings

WAIT_S = 240
TEXT = """The Fox and the Grapes

A fox saw some grapes on a high vine. He jumped, and he jumped again, but he could not reach them. At last he walked \
away, and he was sure that they were sour.
"""
GREEDY: SamplingFields = {"temperature": 0.0}
DRAWN: SamplingFields = {"temperature": 1.2, "top_k": 20}


def environment(engine: str) -> dict[str, str]:
    mine = without_settings(os.environ)
    # vLLM takes its time to load, more than a hung engine would be given.
    return mine | {"RHAPSODE_ENGINE": engine, "RHAPSODE_ENGINE_THREADS": "1"}


def narrate(client: Rhapsode, path: Path, sampling: SamplingFields) -> bytes:
    job = client.submit_job(TEXT, seed=7, quality={"gate": "off"}, sampling=sampling)
    done = client.wait(job, timeout_s=WAIT_S)
    assert done.state == "succeeded", done
    return client.download(done, "narration.wav", path).read_bytes()


def hosts() -> Sequence[int]:
    """The engine processes of this process's stacks."""
    found: list[int] = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has ended
            if "worker.engine.process.host" in process.cmdline():
                found.append(process.pid)
    return found


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.timeout(600)
def test_a_narration_is_the_same_file_from_both_engines_and_survives_the_death_of_one(
    run_dir: Path, tmp_path: Path
) -> None:
    with Stack(StackOptions(run_dir / "native"), environment("native"), lambda _: None) as stack:
        stack.wait_ready()
        with Rhapsode(stack.url) as client:
            greedy = narrate(client, tmp_path / "greedy.wav", GREEDY)
            drawn = narrate(client, tmp_path / "drawn.wav", DRAWN)
    assert greedy != drawn

    with Stack(StackOptions(run_dir / "vllm"), environment("vllm"), lambda _: None) as stack:
        stack.wait_ready()
        with Rhapsode(stack.url) as client:
            assert narrate(client, tmp_path / "other.wav", GREEDY) == greedy

            (host,) = hosts()
            worker = parent_of(host)
            job = client.submit_job(TEXT, seed=7, quality={"gate": "off"}, sampling=DRAWN)
            while client.job(job.id).progress.segments.running == 0:
                time.sleep(0.02)
            os.kill(host, signal.SIGKILL)
            done = client.wait(job, timeout_s=WAIT_S)

            assert done.state == "succeeded", done
            assert client.download(done, "narration.wav", tmp_path / "survived.wav").read_bytes() == drawn
            (successor,) = hosts()
            assert successor != host
            assert parent_of(successor) == worker
