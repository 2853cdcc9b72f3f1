"""Voices made ready through the queue: how many a second, and what each costs the worker."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.voices.voice_rig import MODEL, TENANT, Bench
from rhapsode.contract.jobs.states import JobState, Priority
from storage.audio.recordings import DECODERS
from storage.ids import new_job_id
from storage.jobs.submissions import Submission
from storage.narration.voice_reference import VoiceCacheSpec, VoiceReference
from storage.objects import keys
from storage.voices.plan import encode_voice_plan
from worker.items.cpu_ticket import run_cpu_ticket
from worker.items.gpu_ticket import GpuTickets

IDLE_S = 0.005
"""Between two tickets of a thread that found nothing to do; in a worker, a ticket comes when there is."""


@dataclass(frozen=True, slots=True)
class Built:
    """worker_cpu_s: of the process that claims, fetches, stores and commits. The engine and Redis have their own."""

    wall_s: float
    worker_cpu_s: float


def build_all(rig: Bench, voices: Sequence[VoiceReference], threads: int) -> Built:
    """One job; from its submission until the last of its voices is ready."""
    threads = min(threads, len(voices))  # what one without work does to look for some would count as work
    job = new_job_id()
    input_key = keys.voice_list(TENANT, job)
    rig.services.artifacts.put(input_key, encode_voice_plan(voices))
    spec = VoiceCacheSpec(MODEL, rig.services.engine.info.revision, len(voices))
    wanted = Submission(job, TENANT, spec, Priority.LOW, input_key, 0, 0, retention_s=3_600)
    worker_s, start_s = time.process_time(), time.perf_counter()
    rig.services.jobs.submit(wanted)
    run_cpu_ticket(rig.planner())
    tickets = GpuTickets(rig.services, threads)
    while not rig.services.jobs.get(TENANT, job).state.is_terminal:
        tickets.answer()
        time.sleep(IDLE_S)
    tickets.close()
    wall_s, worker_s = time.perf_counter() - start_s, time.process_time() - worker_s
    record = rig.services.jobs.get(TENANT, job)
    if record.state is not JobState.SUCCEEDED:
        raise SystemExit(f"the voices were not built: {record.error}")
    return Built(wall_s, worker_s)


@contextmanager
def decoder_cpu() -> Generator[Callable[[], float]]:
    """After the block, the seconds that its decoding took: those of the fork server, its start included, and its
    children.

    Nothing else that this process started may end meanwhile.
    """
    DECODERS.close()
    before_s = _ended_children_s()
    yield lambda: after_s - before_s
    DECODERS.close()
    after_s = _ended_children_s()


def _ended_children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
