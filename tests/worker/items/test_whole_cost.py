"""What a whole job asks of the stores, counted: no machine's speed has a part in it.

Raise a number here only for what a user gets for it.
"""

from __future__ import annotations

import pickle
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import cast

import redis

from rhapsode.contract.jobs.narration import SegmentLengths
from rhapsode.contract.jobs.quality import Gate
from rhapsode.contract.jobs.states import JobState, Priority
from storage.ids import new_job_id
from storage.jobs.submissions import Submission, with_plan
from storage.jobs.tickets import Tickets
from storage.jobs.whole_plan import whole_plan
from storage.objects import keys
from tests.threads import join_in_time
from tests.worker.failing_store import FailingStore
from tests.worker.studio import GPU_QUEUE, SPEC, TENANT, Studio
from worker.speech.postprocessing.in_process import InProcessPostProcessor
from worker.speech.postprocessing.interface import JudgedSpeech, Sequel
from worker.speech.quality.calibration.calibration_file import SpeechBounds
from worker.speech.quality.job_norms import JobNorms
from worker.speech.quality.verdict import JudgedUtterance

SHORT = SPEC.asking(segmentation=SegmentLengths(target_chars=300, max_chars=500))
TEXT = "The lamp went out at nine, and nobody came."

MOST_INSIDE = 140
"""Commands of the functions: submit and place, claim, finish."""

GREETINGS = ("hello", "client", "select", "auth")
"""Of connections that are opened."""

KEEPING = "extend"
"""The function that a slow machine calls while the job is under way: every two seconds, for all leases of a worker."""


@dataclass
class Commands:
    """What a server was asked: by clients, where functions have their names, and inside of each function."""

    by_clients: Counter[str] = field(default_factory=Counter[str])
    inside: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])

    def told(self, line: dict[str, str]) -> None:
        name, _, rest = line["command"].partition(" ")
        if line["client_type"] == "lua":
            # It follows its function: the server does one thing at a time.
            next(reversed(self.inside.values()))[name.lower()] += 1
        elif name.lower() == "fcall":
            function = rest.partition(" ")[0].split("_", 3)[3]
            self.by_clients[function] += function != KEEPING
            self.inside[function] = self.inside.pop(function, Counter())
        elif name.lower() not in GREETINGS:
            self.by_clients[name.lower()] += 1

    @property
    def num_inside(self) -> int:
        return sum(made.total() for function, made in self.inside.items() if function != KEEPING)


@contextmanager
def watched(client: redis.Redis) -> Generator[Commands]:
    seen = Commands()
    is_watching = threading.Event()

    def watch() -> None:
        with client.monitor() as monitor:
            is_watching.set()
            for told in monitor.listen():
                line = cast("dict[str, str]", told)
                if line["command"].lower().startswith("echo"):
                    return
                seen.told(line)

    thread = threading.Thread(target=watch)
    thread.start()
    is_watching.wait()
    try:
        yield seen
    finally:
        client.echo("the end")
        join_in_time(thread)


def test_a_whole_job_is_three_functions_one_ticket_and_four_objects(studio: Studio, redis_client: redis.Redis) -> None:
    store = FailingStore(studio.artifacts)
    studio = studio.with_artifacts(store)
    # Functions are loaded, and what a tenant's first job makes is there.
    studio.submit_planned("Another job.", SHORT)
    studio.drain()
    store.puts.clear()
    store.writes = 0
    job = new_job_id()
    whole = whole_plan(TEXT, SHORT)
    assert whole is not None
    wanted = Submission(
        job, TENANT, SHORT, Priority.NORMAL, keys.input_text(TENANT, job), len(TEXT), 1, retention_s=3600
    )

    with watched(redis_client) as seen:
        submitted = studio.jobs.submit_placed(with_plan(wanted, whole))
        studio.run_one(GPU_QUEUE)

    assert studio.jobs.get(TENANT, job).state is JobState.SUCCEEDED
    assert submitted.tickets == Tickets({GPU_QUEUE: 1})
    # Submit and place in one round trip, a look for what could be reused, claim, finish; the worker sends no ticket.
    functions = ("submit", "queue_position", "claim_several", "finish_whole")
    assert +seen.by_clients == dict.fromkeys((*functions, "get"), 1)
    assert seen.num_inside <= MOST_INSIDE, seen.inside
    # In one call, whatever their number: a folder syncs them together.
    assert store.writes == 1
    names = sorted(key.rpartition("/")[2] for key in store.puts)
    assert names[1:] == ["codes.safetensors", "manifest.json", "narration.wav"]
    assert len(names) == 4


MOST_BESIDE_SPEECH = 3_000
"""Bytes of the message to a post-processor for one short job, without its speech."""


def test_a_post_processor_is_told_of_the_job_and_not_of_the_engine(studio: Studio) -> None:
    weighing = _WeighingPostProcessor(studio.artifacts)
    weighed = replace(studio, services=replace(studio.services, postprocessor=weighing))
    job = weighed.submit_planned(TEXT, SHORT)
    weighed.run_one(GPU_QUEUE)

    assert studio.record(job).state is JobState.SUCCEEDED
    assert b"EngineInfo" not in weighing.sequel
    assert len(weighing.sequel) <= MOST_BESIDE_SPEECH


class _WeighingPostProcessor(InProcessPostProcessor):
    """Keeps what another process would be told."""

    sequel = b""

    def judge_then(
        self, utterance: JudgedUtterance, gate: Gate, bounds: SpeechBounds, norms: JobNorms | None, sequel: Sequel
    ) -> JudgedSpeech:
        self.sequel = pickle.dumps(sequel)
        return super().judge_then(utterance, gate, bounds, norms, sequel)
