"""Any order of calls, stale and repeated ones included, keeps the voice store equal to its model."""

from __future__ import annotations

import redis
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from storage.ids import JobId
from storage.voices.records import VoiceRecord
from tests.property_tests import examples
from tests.storage.health_checks import KNOWN
from tests.storage.voices.voice_world import Builder, VoiceWorld, content_of

PICK = st.integers(min_value=0, max_value=999)
RECORDING = st.sampled_from(["hello", "good morning"])
NAME = st.sampled_from(["Ada", "ADA", "Grace", "Zoë", "ZOE\u0308"])


class VoiceMachine(RuleBasedStateMachine):
    def __init__(self, client: redis.Redis) -> None:
        super().__init__()
        client.flushdb()
        self.world = VoiceWorld(client)
        self.world.start_job()
        self.seen: list[VoiceRecord] = []

    @rule(name=NAME, recording=RECORDING)
    def create(self, name: str, recording: str) -> None:
        if record := self.world.create(name, recording):
            self.seen.append(record)

    @precondition(lambda self: self.seen)
    @rule(pick=PICK, recording=RECORDING)
    def replace(self, pick: int, recording: str) -> None:
        seen = self.voice(pick)
        self.world.replace(seen, recording)
        if seen.id in self.world.voices:
            self.seen.append(self.world.voices[seen.id])

    @precondition(lambda self: len(self.seen) > 2)
    @rule(pick=PICK)
    def delete(self, pick: int) -> None:
        self.world.delete(self.voice(pick).id)

    @precondition(lambda self: self.seen)
    @rule(pick=PICK, job=PICK)
    def request(self, pick: int, job: int) -> None:
        self.world.request(self.voice(pick), self.job(job))

    @precondition(lambda self: self.seen)
    @rule(pick=PICK)
    def rebuild(self, pick: int) -> None:
        self.world.rebuild(self.voice(pick), self.world.start_job())

    @rule(job=PICK)
    def end_job(self, job: int) -> None:
        self.world.end_job(self.job(job))
        self.world.start_job()

    @precondition(lambda self: self.seen)
    @rule(pick=PICK, job=PICK)
    def claim(self, pick: int, job: int) -> None:
        self.world.claim(content_of(self.voice(pick)), self.job(job))

    @precondition(lambda self: self.builders())
    @rule(pick=PICK)
    def store_and_commit(self, pick: int) -> None:
        builder = self.builder(pick)
        self.world.put(builder)
        self.world.commit(builder)

    @precondition(lambda self: self.builders())
    @rule(pick=PICK)
    def fail(self, pick: int) -> None:
        self.world.fail(self.builder(pick))

    @precondition(lambda self: self.builders())
    @rule(pick=PICK)
    def lose(self, pick: int) -> None:
        self.world.lose(self.builder(pick).lease)

    @precondition(lambda self: self.builders())
    @rule(pick=PICK)
    def give_up(self, pick: int) -> None:
        self.world.give_up(self.builder(pick).lease)

    @rule()
    def sweep(self) -> None:
        self.world.sweep()

    @invariant()
    def is_consistent(self) -> None:
        self.world.check()

    def teardown(self) -> None:
        self.world.check_no_leak()

    def voice(self, pick: int) -> VoiceRecord:
        return self.seen[pick % len(self.seen)]

    def job(self, pick: int) -> JobId:
        return self.world.jobs[pick % len(self.world.jobs)]

    def builders(self) -> list[Builder]:
        return [builder for builder in self.world.builders if builder.is_mine]

    def builder(self, pick: int) -> Builder:
        builders = self.builders()
        return builders[pick % len(builders)]


def test_any_order_of_calls_keeps_voices_and_caches_as_they_should_be(redis_client: redis.Redis) -> None:
    class Machine(VoiceMachine):
        def __init__(self) -> None:
            super().__init__(redis_client)

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples(100),
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=KNOWN,
            derandomize=True,
        ),
    )
