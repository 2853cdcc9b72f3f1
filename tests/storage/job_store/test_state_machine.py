"""Any order of calls, stale and repeated ones included, keeps the job store equal to its model.

Runs on the real server. The invariants read Redis itself, so that what no call shows is checked too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import redis
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from rhapsode.contract.jobs.states import JobState, Priority
from storage.database.keys import RedisKeys
from storage.database.shared_calls import SharedCalls
from storage.errors import (
    AdmissionRefused,
    IdempotencyMismatch,
    JobAborted,
    JobGone,
    LeaseLost,
    QuotaExceeded,
    SegmentBusy,
    SegmentNotFound,
    SegmentsMissing,
    StartTooLate,
    StateConflict,
)
from storage.ids import JobId, TenantId, WorkQueue
from storage.job_store.calls import Transitioned
from storage.job_store.control import JobUpdate
from storage.job_store.counter_audit import CounterMismatch
from storage.job_store.leases import Look, WholeResult
from storage.jobs.record import JobError, JobRecord, SpokenBy
from storage.jobs.submissions import AdmissionLimits, IdempotencyKey, Submission
from storage.jobs.tickets import Tickets
from storage.jobs.whole import WHOLE_ITEM, WholePlan
from storage.jobs.work_items import (
    PLAN_ITEM,
    QUARANTINE_SUSPICIONS,
    ClaimedItem,
    Lease,
    LeaseStatus,
    PlanResult,
    ReleaseReason,
    WorkerIdentity,
)
from storage.jobs.work_queues import CPU_QUEUE, speech_queue
from storage.narration.spec import NarrationSpec
from storage.queue.worker_slots import TTL_S, WorkerSlots
from storage.segments.edits import SegmentEdit, decode_edit, encode_edit
from tests.property_tests import examples
from tests.storage.audio.decoded import fields_of, items_of, scores_of
from tests.storage.database.shared_trips import Trips
from tests.storage.health_checks import KNOWN
from tests.storage.job_store.event_log import EventLog
from tests.storage.job_store.job_driver import (
    ALICE,
    BOB,
    SPEC,
    TEST_CLOCK,
    Clock,
    artifact,
    open_control,
    open_store,
    report,
    submission,
)
from tests.storage.job_store.job_model import ModelJob, ModelStore, Outcome, queue_of
from tests.threads import BoundedExecutor

MAX_ATTEMPTS = 2
WINDOW = 3
MOST_OPEN = 21
"""One and a half times the slots of two workers with seven."""
LEASE_S = 10
LIMITS = AdmissionLimits(tenant_jobs=3, tenant_audio_ms=400_000, total_jobs=5, total_audio_ms=10_000_000)
TERMINAL_EVENTS = {f"job.{state}": state for state in JobState if state.is_terminal}
ERROR = JobError("storage_unavailable", "the store did not answer")
TENANTS = st.sampled_from([ALICE, BOB])
RARELY = st.sampled_from([False, False, False, True])
"""For calls after which a job has no more story to tell."""
PICK = st.integers(min_value=0, max_value=999)
MODELS = ("small", "large")
QUEUES = tuple(speech_queue(model) for model in MODELS)
ALL_QUEUES = (CPU_QUEUE, *QUEUES)
SOME_QUEUE = st.sampled_from([*QUEUES, *QUEUES, CPU_QUEUE])
INDEX = st.integers(min_value=0, max_value=99)
TINKERING = st.sampled_from(
    ["edit", "edit", "regenerate", "select", "select", "assemble", "cancel", "retry", "retry", "work", "work"]
)
NUM_SEGMENTS = st.sampled_from([1, 2, 3, 6, 30])
STATES_THAT_PAUSE = (JobState.PENDING, JobState.RUNNING, JobState.PAUSED)


class JobMachine(RuleBasedStateMachine):
    def __init__(self, client: redis.Redis) -> None:
        super().__init__()
        client.flushdb()
        self.client = client
        self.clock = Clock()
        self.store = open_store(client, LIMITS, MAX_ATTEMPTS, WINDOW)
        self.trips = Trips(client, TEST_CLOCK)
        self.settlements = SharedCalls(self.trips)
        self.store._settlements = self.settlements  # pyright: ignore[reportPrivateUsage]
        self.control = open_control(client, LIMITS, WINDOW)
        self.model = ModelStore(MAX_ATTEMPTS, WINDOW)
        self.keys = RedisKeys("rhapsode")
        self.submissions: list[Submission] = []
        self.leases: list[Lease] = []
        self.commits: list[tuple[Lease, Outcome]] = []
        self.boot_ids = {"w1": 0, "w2": 0}
        self.fleet = WorkerSlots(client, clock=TEST_CLOCK)
        self.auditing: Iterator[list[CounterMismatch]] | None = None
        self.versions: dict[JobId, int] = {}

    # Submitting

    @rule(
        tenant=TENANTS,
        audio_ms=st.sampled_from([5_000, 60_000, 300_000]),
        priority=st.sampled_from(Priority),
        deadline_s=st.sampled_from([None] * 6 + [5, 40]),
        key=st.sampled_from([None, None, "k1", "k2"]),
        fingerprint=st.sampled_from(["f1", "f1", "f2"]),
        model=st.sampled_from(MODELS),
        start_s=st.sampled_from([None] * 5 + [-3, 4, 30]),
        is_whole=st.booleans(),
    )
    def submit(
        self,
        tenant: TenantId,
        audio_ms: int,
        priority: Priority,
        deadline_s: int | None,
        key: str | None,
        fingerprint: str,
        model: str,
        start_s: int | None,
        is_whole: bool,
    ) -> None:
        deadline_ms = self.clock.now_ms + deadline_s * 1000 if deadline_s else None
        idempotency = IdempotencyKey(key, fingerprint) if key else None
        not_before_ms = None if start_s is None else self.clock.now_ms + start_s * 1000
        wanted = submission(tenant, audio_ms, priority, deadline_ms, idempotency, model=model)
        whole = WholePlan("a plan", audio_ms, "Once") if is_whole else None
        self._submit(replace(wanted, not_before_ms=not_before_ms, whole=whole))

    @precondition(lambda self: self.submissions)
    @rule(pick=PICK)
    def submit_again(self, pick: int) -> None:
        wanted = self.submissions[pick % len(self.submissions)]
        if wanted.id in self.model.jobs or wanted.idempotency:
            self._submit(wanted)

    def _submit(self, wanted: Submission) -> None:
        known = self._known_job(wanted)
        if known == "mismatch":
            self._expect(IdempotencyMismatch, lambda: self.store.submit(wanted))
        elif known in self.model.deleted:
            self._expect(JobGone, lambda: self.store.submit(wanted))
        elif known:
            answer = self.store.submit(wanted)
            assert (answer.job.id, answer.replayed) == (known, known != wanted.id)
        elif refusal := self._refusal(wanted.tenant, wanted.estimated_audio_ms):
            self._expect(refusal, lambda: self.store.submit(wanted))
        else:
            awake = self._awake()
            answer = self.store.submit(wanted)
            self.model.submit(wanted, self.clock.now_ms)
            tickets = self._tickets(self.model.jobs[wanted.id], awake)
            assert (answer.job.id, answer.replayed, answer.tickets) == (wanted.id, False, tickets)
            self.submissions.append(wanted)

    def _known_job(self, wanted: Submission) -> str | None:
        if wanted.idempotency:
            fingerprint, job_id = self.model.keys.get((wanted.tenant, wanted.idempotency.key), ("", None))
            if job_id:
                return job_id if fingerprint == wanted.idempotency.fingerprint else "mismatch"
        return wanted.id if wanted.id in self.model.jobs else None

    def _refusal(self, tenant: TenantId, audio_ms: int) -> type[AdmissionRefused] | None:
        mine, all_jobs = self.model.unfinished(tenant), self.model.unfinished()
        if len(mine) >= LIMITS.tenant_jobs:
            return QuotaExceeded
        if sum(job.admitted_ms for job in mine) + audio_ms > LIMITS.tenant_audio_ms:
            return QuotaExceeded
        return AdmissionRefused if len(all_jobs) >= LIMITS.total_jobs else None

    # Working

    @rule(queue=SOME_QUEUE, name=st.sampled_from(["w1", "w2"]))
    def claim(self, queue: WorkQueue, name: str) -> None:
        worker = WorkerIdentity(name, str(self.boot_ids[name]))
        claimable = self.model.claimable(queue, self.clock.now_ms)

        item = self.store.claim(queue, worker, LEASE_S).item

        self._expire_what_the_claim_met()
        if item is None:
            assert not claimable
            return
        assert (item.lease.job, item.lease.item) in claimable
        self._note_claim(item, worker)

    def _note_claim(self, item: ClaimedItem, worker: WorkerIdentity) -> None:
        job = self.model.jobs[item.lease.job]
        assert item.attempt == job.attempts.get(item.lease.item, 0) + 1
        assert item.suspicions == job.suspicions.get(item.lease.item, 0)
        assert encode_edit(item.edit) == job.edits.get(item.lease.item, "")
        assert item.take == job.take_of(item.lease.item)[0]
        self.model.claim(item.lease, worker, self.clock.now_ms + LEASE_S * 1000)
        self.leases.append(item.lease)

    @rule(
        queue=st.sampled_from(QUEUES),
        name=st.sampled_from(["w1", "w2"]),
        room=st.sampled_from([1, 2, 5, 16]),
        is_woken=st.booleans(),
        is_last=st.booleans(),
    )
    def claim_several(self, queue: WorkQueue, name: str, room: int, is_woken: bool, is_last: bool) -> None:
        """As many as one claim after the other would bring, and each as they would."""
        worker = WorkerIdentity(name, str(self.boot_ids[name]))
        due = self.model.claimable(queue, self.clock.now_ms)

        items = self.store.claim_several(Look(queue, room, is_woken, is_last), worker, LEASE_S).items

        self._expire_what_the_claim_met()
        assert len(items) == min(room, len(due))
        for item in items:
            assert (item.lease.job, item.lease.item) in self.model.claimable(queue, self.clock.now_ms)
            self._note_claim(item, worker)

    @rule(queue=st.sampled_from(QUEUES), name=st.sampled_from(["w1", "w2"]))
    def look_away(self, queue: WorkQueue, name: str) -> None:
        before = self.store.ready_counts()[queue]

        tickets = self.store.look_away(queue, WorkerIdentity(name, str(self.boot_ids[name])))

        assert tickets.total() <= min(before, 1)

    @rule(
        queues=st.lists(SOME_QUEUE, min_size=2, max_size=8),
        num_segments=NUM_SEGMENTS,
    )
    def work(self, queues: list[WorkQueue], num_segments: int) -> None:
        """An undisturbed worker, without which no job would get far."""
        for queue in queues:
            known = len(self.leases)
            self.claim(queue, "w1")
            for lease in self.leases[known:]:
                self._commit(lease, self._outcome(lease, (num_segments, 30_000), "work"))

    @rule(num_segments=NUM_SEGMENTS)
    def work_to_the_end(self, num_segments: int) -> None:
        """Long enough for a job or two to end, so that there is something to reopen."""
        self.work([CPU_QUEUE, *QUEUES, *QUEUES, CPU_QUEUE] * 3, num_segments)

    def _expire_what_the_claim_met(self) -> None:
        for job in self.model.jobs.values():
            if self.model.is_overdue(job, self.clock.now_ms) and self._record(job).state.is_terminal:
                self.model.expire(job)

    @precondition(lambda self: self.leases)
    @rule(pick=PICK, num_segments=NUM_SEGMENTS, audio_ms=st.sampled_from([5_000, 70_000]))
    def commit(self, pick: int, num_segments: int, audio_ms: int) -> None:
        lease = self._pick(pick)
        self._commit(lease, self._outcome(lease, (num_segments, audio_ms), str(pick)))

    @precondition(lambda self: self.overtaken())
    @rule(pick=PICK, text=st.sampled_from(["late", "work"]))
    def commit_late(self, pick: int, text: str) -> None:
        """A worker that lost its lease to the present holder comes back with a result."""
        overtaken = self.overtaken()
        lease = overtaken[pick % len(overtaken)]
        self._commit(lease, self._outcome(lease, (2, 30_000), text))

    def _outcome(self, lease: Lease, plan: Outcome, text: str) -> Outcome:
        """Of whole jobs some end with their segment, and some had more than one attempt at it."""
        if lease.item == PLAN_ITEM:
            return plan
        job = self.model.jobs.get(lease.job)
        is_ending = job is not None and job.is_whole and lease.item == WHOLE_ITEM and lease.fence % 3
        return ("whole", text) if is_ending else (text,)

    @precondition(lambda self: len(self.leases) > 1)
    @rule(picks=st.lists(PICK, min_size=2, max_size=6), num_segments=NUM_SEGMENTS)
    def commit_together(self, picks: list[int], num_segments: int) -> None:
        """One of them on its way, and those behind it in one round trip: as if one came after the other."""
        wanted: dict[Lease, Outcome] = {}
        for pick in picks:
            lease = self._pick(pick)
            wanted[lease] = self._outcome(lease, (num_segments, 30_000), str(pick))

        with BoundedExecutor(len(wanted)) as threads:
            calls = [partial(self._call_commit, lease, outcome) for lease, outcome in wanted.items()]
            answers = self.trips.together(self.settlements, threads, calls)

        for (lease, outcome), answer in zip(wanted.items(), answers, strict=True):
            self._expect_of_commit(lease, outcome, answer)

    def _expect_of_commit(self, lease: Lease, outcome: Outcome, answer: Future[None]) -> None:
        if self.model.is_repeated_commit(lease, outcome):
            answer.result()
        elif not self._refused(lease, answer.result):
            answer.result()
            self._model_commit(lease, outcome)
            self.commits.append((lease, outcome))

    @precondition(lambda self: self.commits)
    @rule(pick=PICK)
    def commit_again(self, pick: int) -> None:
        self._commit(*self.commits[pick % len(self.commits)])

    def _commit(self, lease: Lease, outcome: Outcome) -> None:
        if self.model.is_repeated_commit(lease, outcome):
            before = self._snapshot()
            self._call_commit(lease, outcome)
            assert self._snapshot() == before
        elif self._refused(lease, lambda: self._call_commit(lease, outcome)):
            return
        else:
            self._call_commit(lease, outcome)
            self._model_commit(lease, outcome)
            self.commits.append((lease, outcome))

    def _call_commit(self, lease: Lease, outcome: Outcome) -> None:
        match lease.item, outcome:
            case "plan", (int(num_segments), int(audio_ms)):
                self.store.commit_plan(lease, PlanResult(f"plan-{lease.fence}", num_segments, audio_ms))
            case "assemble", (str(text),):
                self.store.finish(lease, [artifact(f"{lease.fence}/{text}")])
            case "0", ("whole", str(text)):
                made = artifact(f"{lease.fence}/{text}")
                result = WholeResult(report(f"whole {text}"), (made,), (), SpokenBy())
                self.store.finish_whole(lease, result)
            case _, (str(text),):
                self.store.commit_segment(lease, report(text))
            case _:
                raise AssertionError(outcome)

    def _model_commit(self, lease: Lease, outcome: Outcome) -> None:
        match lease.item, outcome:
            case "plan", (int(num_segments), int(audio_ms)):
                self.model.commit_plan(lease, outcome, num_segments, audio_ms, self.clock.now_ms)
            case "assemble", _:
                self.model.finish(lease, outcome)
            case "0", ("whole", _):
                self.model.finish_whole(lease, outcome, self.clock.now_ms)
            case _:
                self.model.commit_segment(lease, outcome, self.clock.now_ms)

    @precondition(lambda self: self.leases)
    @rule(pick=PICK, reason=st.sampled_from([ReleaseReason.SHUTDOWN, ReleaseReason.ENGINE_DIED]))
    def release(self, pick: int, reason: ReleaseReason) -> None:
        lease = self._pick(pick)
        is_held = self.model.verdict(lease) == "held"

        tickets = self.store.release(lease, reason)

        if is_held:
            self.model.release(lease, reason)
        else:
            self.model.drop_if_cancelling(lease)
            assert tickets.total() == 0

    @precondition(lambda self: self.leases)
    @rule(pick=PICK)
    def isolate(self, pick: int) -> None:
        lease = self._pick(pick)
        if not self._refused(lease, lambda: self.store.isolate(lease)):
            self.store.isolate(lease)
            self.model.isolate(lease)

    @rule(queue=SOME_QUEUE, deaths=st.integers(2, 6), turns=st.lists(st.booleans(), min_size=6, max_size=6))
    def engine_dies_again_and_again(self, queue: WorkQueue, deaths: int, turns: list[bool]) -> None:
        """Whatever goes back comes first at the next claim; a suspect's turn has come at some of the deaths."""
        for is_its_turn in turns[:deaths]:
            known = len(self.leases)
            self.claim(queue, "w1")
            for lease in self.leases[known:]:
                if self.model.verdict(lease) != "held":
                    continue
                if is_its_turn and self.model.jobs[lease.job].suspicions.get(lease.item, 0) >= QUARANTINE_SUSPICIONS:
                    self.store.isolate(lease)
                    self.model.isolate(lease)
                self.store.release(lease, ReleaseReason.ENGINE_DIED)
                self.model.release(lease, ReleaseReason.ENGINE_DIED)

    @rule(queue=st.sampled_from(QUEUES), name=st.sampled_from(["w1", "w2"]), slots=st.sampled_from([0, 2, 7]))
    def announce(self, queue: WorkQueue, name: str, slots: int) -> None:
        workers = self.model.fleet.setdefault(queue, {})
        if slots:
            self.fleet.announce(queue, name, slots)
            workers[name] = (slots, self.clock.now_ms + round(TTL_S * 1000))
        else:
            self.fleet.leave(queue, name)
            workers.pop(name, None)

        assert self.fleet.slots(queue) == sum(
            slots for slots, until_ms in workers.values() if until_ms > self.clock.now_ms
        )

    @precondition(lambda self: self.leases)
    @rule(pick=PICK, delay_s=st.sampled_from([0, 3, 30]))
    def retry_later(self, pick: int, delay_s: int) -> None:
        lease = self._pick(pick)
        if self.model.is_repeated_retry(lease):
            before = self._snapshot()
            self.store.retry_later(lease, ERROR, delay_s)
            assert self._snapshot() == before
        elif not self._refused(lease, lambda: self.store.retry_later(lease, ERROR, delay_s)):
            self.store.retry_later(lease, ERROR, delay_s)
            self.model.retry_later(lease, self.clock.now_ms + delay_s * 1000)

    @precondition(lambda self: self.leases)
    @rule(pick=PICK, is_meant=RARELY)
    def fail(self, pick: int, is_meant: bool) -> None:
        if not is_meant:
            return
        lease = self._pick(pick)
        if self.model.is_repeated_failure(lease):
            before = self._snapshot()
            self.store.fail(lease, ERROR)
            assert self._snapshot() == before
        elif not self._refused(lease, lambda: self.store.fail(lease, ERROR)):
            self.store.fail(lease, ERROR)
            self.model.fail(lease)

    @precondition(lambda self: self.leases)
    @rule(picks=st.lists(PICK, min_size=1, max_size=3, unique=True))
    def extend(self, picks: list[int]) -> None:
        leases = list(dict.fromkeys(self._pick(pick) for pick in picks))
        expected = []
        for lease in leases:
            verdict = self.model.verdict(lease)
            expected.append(LeaseStatus(verdict))
            if verdict == "held":
                self.model.jobs[lease.job].held[lease.item].expires_ms = self.clock.now_ms + LEASE_S * 1000
            else:
                self.model.drop_if_cancelling(lease)

        assert self.store.extend(leases, LEASE_S) == expected

    @rule(name=st.sampled_from(["w1", "w2"]))
    def restart_worker(self, name: str) -> None:
        self.boot_ids[name] += 1
        worker = WorkerIdentity(name, str(self.boot_ids[name]))

        self.store.release_worker(worker)

        self.model.release_worker(worker)

    # Time and the janitor

    @rule(seconds=st.sampled_from([0.5, 1, 1, 4, 4, 11, 45]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule()
    def reap(self) -> None:
        swept = self.store.reap(1_000)

        expected = self.model.reap(self.clock.now_ms)
        assert (swept.leases_expired, swept.retries_due, swept.jobs_expired, swept.jobs_woken) == expected

    # The tenant's calls

    @precondition(lambda self: self.model.jobs)
    @rule(pick=PICK, is_meant=RARELY)
    def cancel(self, pick: int, is_meant: bool) -> None:
        if not is_meant:
            return
        job = self._pick_job(pick)
        if job.state.is_terminal and job.state is not JobState.CANCELLED:
            self._expect(StateConflict, lambda: self.store.cancel(job.tenant, job.id))
            return
        answer = self.store.cancel(job.tenant, job.id)
        self.model.cancel(job)
        assert answer.job.state is job.state

    @precondition(lambda self: self.model.jobs)
    @rule(pick=PICK, is_meant=RARELY)
    def pause(self, pick: int, is_meant: bool) -> None:
        if not is_meant:
            return
        job = self._pick_job(pick)
        if job.state not in STATES_THAT_PAUSE:
            self._expect(StateConflict, lambda: self.store.pause(job.tenant, job.id))
            return
        self.store.pause(job.tenant, job.id)
        self.model.pause(job)

    @precondition(lambda self: self.model.jobs)
    @rule(pick=PICK)
    def resume(self, pick: int) -> None:
        job = self._pick_job(pick)
        if job.state not in STATES_THAT_PAUSE:
            self._expect(StateConflict, lambda: self.store.resume(job.tenant, job.id))
            return
        was_paused = job.state is JobState.PAUSED
        awake = self._awake()
        tickets = self.store.resume(job.tenant, job.id).tickets
        self.model.resume(job)
        assert tickets == (self._tickets(job, awake) if was_paused else Tickets())

    @precondition(lambda self: self.model.jobs)
    @rule(pick=PICK)
    def retry(self, pick: int) -> None:
        job = self._pick_job(pick)
        left_ms = job.audio_ms - job.segments_done * job.cost_ms
        if job.state in (JobState.SUCCEEDED, JobState.CANCELLING):
            self._expect(StateConflict, lambda: self.control.retry(job.tenant, job.id))
        elif job.state.is_terminal and (refusal := self._refusal(job.tenant, left_ms)):
            self._expect(refusal, lambda: self.control.retry(job.tenant, job.id))
        else:
            awake = self._awake()
            answer = self.control.retry(job.tenant, job.id)
            if job.state.is_terminal:
                self.model.reopen(job, self.clock.now_ms)
                assert answer.tickets == self._tickets(job, awake)
            assert (answer.job.state, answer.job.run) == (job.state, job.runs)

    @precondition(lambda self: self.planned())
    @rule(pick=PICK, index=INDEX, text=st.sampled_from(["One.", "Two."]))
    def edit(self, pick: int, index: int, text: str) -> None:
        job = self.planned()[pick % len(self.planned())]
        index = self._segment_of(job, index)
        item = str(index)
        edit = encode_edit(SegmentEdit(text=text).over(decode_edit(job.edits.get(item, ""))))
        if edit == job.edits.get(item, ""):
            before = self._snapshot()
            self.control.edit(job.tenant, job.id, {index: SegmentEdit(text=text)})
            assert self._snapshot() == before
        else:
            self._edit(job, item, edit, lambda: self.control.edit(job.tenant, job.id, {index: SegmentEdit(text=text)}))

    @precondition(lambda self: self.planned())
    @rule(pick=PICK, index=INDEX, seed=st.sampled_from([None, None, 7]))
    def regenerate(self, pick: int, index: int, seed: int | None) -> None:
        job = self.planned()[pick % len(self.planned())]
        index = self._segment_of(job, index)
        item = str(index)
        edit = encode_edit(replace(decode_edit(job.edits.get(item, "")), seed=seed, drawn=True))
        self._edit(job, item, edit, lambda: self.control.regenerate(job.tenant, job.id, index, seed, None))

    def _edit(self, job: ModelJob, item: str, edit: str, call: Callable[[], Transitioned]) -> None:
        has_succeeded = job.state is JobState.SUCCEEDED
        if refused := self._segment_refusal(job, item):
            self._expect(refused, call)
        elif has_succeeded and (refusal := self._refusal(job.tenant, job.cost_ms)):
            self._expect(refusal, call)
        else:
            assert call().job.id == job.id
            self.model.edit(job, item, edit, self.clock.now_ms)

    @precondition(lambda self: self.planned())
    @rule(pick=PICK, index=INDEX, number=st.sampled_from([1, 1, 2, 3]))
    def select_take(self, pick: int, index: int, number: int) -> None:
        job = self.planned()[pick % len(self.planned())]
        index = self._segment_of(job, index)
        item = str(index)
        is_in_place = item in job.done and job.take_of(item)[0] == number

        def call() -> Transitioned:
            return self.control.select_takes(job.tenant, job.id, {index: number})

        if refused := self._segment_refusal(job, item):
            self._expect(refused, call)
        elif is_in_place:
            before = self._snapshot()
            call()
            assert self._snapshot() == before
        elif number not in job.takes.get(item, {}):
            self._expect(SegmentNotFound, call)
        elif job.state is JobState.SUCCEEDED and (refusal := self._refusal(job.tenant, 0)):
            self._expect(refusal, call)
        else:
            call()
            self.model.select(job, item, number, self.clock.now_ms)

    @precondition(lambda self: self.planned())
    @rule(pick=PICK, steps=st.lists(st.tuples(TINKERING, INDEX), min_size=3, max_size=8))
    def a_user_tinkers(self, pick: int, steps: list[tuple[str, int]]) -> None:
        """One call after the other on one job, while a worker goes on; alone, such calls seldom meet a finished job."""
        for number, (kind, index) in enumerate(steps):
            match kind:
                case "edit":
                    self.edit(pick, index, f"Text {number}.")
                case "regenerate":
                    self.regenerate(pick, index, None)
                case "select":
                    self.select_take(pick, index, 1 + index % 3)
                case "assemble":
                    self.assemble(pick, number)
                case "cancel":
                    self.cancel(pick, is_meant=True)
                case "retry":
                    self.retry(pick)
                case _:
                    self.work([CPU_QUEUE, *QUEUES, *QUEUES, CPU_QUEUE], 2)

    def _segment_refusal(self, job: ModelJob, item: str) -> type[Exception] | None:
        if job.state is JobState.CANCELLING:
            return StateConflict
        if int(item) >= job.total:
            return SegmentNotFound
        return SegmentBusy if item in job.held else None

    @precondition(lambda self: self.model.jobs)
    @rule(pick=PICK, seed=st.sampled_from([1, 2]))
    def assemble(self, pick: int, seed: int) -> None:
        """Any other spec will do for another output."""
        job = self._pick_job(pick)
        spec = self._record(job).spec
        assert isinstance(spec, NarrationSpec)
        changes = spec != SPEC.asking(model=spec.model, seed=seed)

        def call() -> Transitioned:
            return self.control.assemble(job.tenant, job.id, lambda spec: spec.asking(seed=seed), None)

        if not job.is_complete or job.state is JobState.CANCELLING:
            self._expect(SegmentsMissing if job.state.is_terminal else StateConflict, call)
        elif job.state.is_terminal and (refusal := self._refusal(job.tenant, 0)):
            self._expect(refusal, call)
        else:
            call()
            if job.state.is_terminal:
                self.model.reopen(job, self.clock.now_ms)
            elif changes:
                self.model.assemble_anew(job)

    @precondition(lambda self: self.model.jobs)
    @rule(pick=PICK, priority=st.sampled_from(Priority), deadline_s=st.sampled_from([None] * 4 + [0, 40]))
    def patch(self, pick: int, priority: Priority, deadline_s: int | None) -> None:
        job = self._pick_job(pick)
        deadline_ms = self.clock.now_ms + 1000 * deadline_s if deadline_s else deadline_s
        changes = JobUpdate(priority, deadline_ms, {"by": "patch"}, retention_s=7_200)
        if job.state.is_terminal or job.state is JobState.CANCELLING:
            self._expect(StateConflict, lambda: self.control.patch(job.tenant, job.id, changes))
            return
        answer = self.control.patch(job.tenant, job.id, changes)
        self.model.prioritise(job, priority)
        if deadline_ms is not None:
            job.deadline_ms = deadline_ms or None
        assert (answer.job.priority, answer.job.deadline_ms) == (priority, job.deadline_ms)
        assert answer.job.job_class == job.line[1]

    @precondition(lambda self: self.model.jobs)
    @rule(pick=PICK, start_s=st.sampled_from([None, -3, 2, 20]))
    def reschedule(self, pick: int, start_s: int | None) -> None:
        scheduled = [job for job in self.model.jobs.values() if job.sleeps_until_ms]
        job = scheduled[pick % len(scheduled)] if scheduled else self._pick_job(pick)
        start_ms = 0 if start_s is None else self.clock.now_ms + start_s * 1000

        def call() -> Transitioned:
            return self.control.patch(job.tenant, job.id, JobUpdate(not_before_ms=start_ms))

        if job.sleeps_until_ms is None:
            self._expect(StateConflict, call)
        elif job.deadline_ms is not None and job.deadline_ms <= start_ms:
            self._expect(StartTooLate, call)
        else:
            awake = self._awake()
            answer = call()
            self.model.reschedule(job, start_ms, self.clock.now_ms)
            assert answer.job.is_scheduled == (job.sleeps_until_ms is not None)
            assert answer.tickets == (self._tickets(job, awake) if job.is_claimable else Tickets())

    @precondition(lambda self: self.model.jobs)
    @rule(pick=PICK, is_meant=RARELY)
    def delete(self, pick: int, is_meant: bool) -> None:
        if not is_meant:
            return
        job = self._pick_job(pick)
        if not job.state.is_terminal:
            self._expect(StateConflict, lambda: self.store.delete(job.tenant, job.id))
            return
        self.store.delete(job.tenant, job.id)
        self.model.delete(job)
        self._expect(JobGone, lambda: self.store.get(job.tenant, job.id))

    # What must hold after every call

    @invariant()
    def states_are_the_models(self) -> None:
        for job in self.model.jobs.values():
            record = self._record(job)
            assert record.state is job.state, job.states
            assert record.is_scheduled == (job.sleeps_until_ms is not None)
            assert record.segments.total == job.total
            assert record.segments.done == sum(item.isdecimal() for item in job.done)
            assert record.segments.running == sum(item.isdecimal() for item in job.held)
            assert record.version >= self.versions.get(job.id, 0)
            self.versions[job.id] = record.version

    @invariant()
    def every_item_is_in_exactly_one_place(self) -> None:
        for job in self.model.jobs.values():
            shown = "ready" if job.state is not JobState.PAUSED else "parked"
            hidden = "parked" if shown == "ready" else "ready"
            listed = [item for queue in ALL_QUEUES for item in self._items(shown, queue, job.id)]
            live = fields_of(self.client, self.keys.of("live", job.id))
            held = {item: value.split("|")[0] for item, value in live.items() if value not in ("W", "S")}
            waiting = {item for item, value in live.items() if value == "W"}

            assert sorted(listed) == sorted(job.ready)
            assert not any(self._items(hidden, queue, job.id) for queue in ALL_QUEUES)
            assert held == {
                item: f"{'A' if holding.is_alone else 'L'}{holding.fence}" for item, holding in job.held.items()
            }
            assert waiting == set(job.waiting)
            assert {item for item, value in live.items() if value == "S"} == (
                {PLAN_ITEM} if job.sleeps_until_ms else set()
            )
            assert len({*listed, *held, *waiting}) == len(listed) + len(held) + len(waiting)
            if not job.state.is_terminal and job.state is not JobState.CANCELLING:
                not_done = {str(index) for index in range(job.opened)} - set(job.done)
                segments = {item for item in {*listed, *held, *waiting} if item.isdecimal()}
                # A whole job's item waits before it is said how many there are.
                assert segments == not_done if job.total else segments <= {job.first_item}
                assert len(segments) <= MOST_OPEN + job.taken_back

    @invariant()
    def results_are_kept_under_the_committing_fence(self) -> None:
        for job in self.model.jobs.values():
            found = {(r.index, r.fence) for r in self.store.segment_results(job.tenant, job.id)}
            assert found == {(int(item), fence) for item, (fence, _) in job.done.items() if item.isdecimal()}

    @invariant()
    def takes_and_edits_are_the_models(self) -> None:
        for job in self.model.jobs.values():
            takes = fields_of(self.client, self.keys.of("takes", job.id))
            edits = fields_of(self.client, self.keys.of("edits", job.id))
            filed = {f"{item}:{n}": kept for item, kept_of in job.takes.items() for n, kept in kept_of.items()}

            assert {at: int(line[1:].split(":")[0]) for at, line in takes.items() if ":" in at} == {
                at: fence for at, ((fence, _), _) in filed.items()
            }
            assert {at: value for at, value in takes.items() if ":" not in at} == {
                item: f"{current}:{highest}" for item, (current, highest) in job.numbers.items()
            }
            in_force = {item: edit for item, edit in job.edits.items() if edit}
            assert edits == in_force | {at: edit for at, (_, edit) in filed.items() if edit}

    @invariant()
    def an_audit_in_steps_finds_nothing(self) -> None:
        """One step after every call, so that every call comes between two steps of some audit."""
        if self.auditing is None:
            self.auditing = self.store.audit_steps(1)
        found = next(self.auditing, None)
        if found is None:
            self.auditing = None
        assert not found

    @invariant()
    def counters_equal_what_the_model_says(self) -> None:
        unfinished = self.model.unfinished()
        total = fields_of(self.client, self.keys.single("total"))
        assert int(total.get("jobs", 0)) == len(unfinished)
        assert int(total.get("audio_ms", 0)) == sum(job.admitted_ms for job in unfinished)
        ready = Counter(
            queue_of(job, item) for job in self.model.jobs.values() if job.is_claimable for item in job.ready
        )
        assert self.store.ready_counts() == ready
        scheduled = scores_of(self.client, self.keys.single("scheduled"))
        assert scheduled == {job.id: job.sleeps_until_ms for job in unfinished if job.sleeps_until_ms}

    @invariant()
    def a_worker_looks_or_was_sent_a_ticket_for_what_is_ready(self) -> None:
        ready = self.store.ready_counts()
        for queue, known in self._awake().items():
            assert not ready[queue] or not known or known["looking"] != "0" or known["rung"] != "0"

    @invariant()
    def a_job_ends_with_one_event_a_run(self) -> None:
        log = EventLog(self.client)
        for job in self.model.jobs.values():
            endings = [event for event in log.read(job.id) if event.type in TERMINAL_EVENTS]
            assert [TERMINAL_EVENTS[event.type] for event in endings] == [s for s in job.states if s.is_terminal]

    def teardown(self) -> None:
        """Whatever state this is, time and an honest worker bring every job to its end."""
        for job in list(self.model.unfinished()):
            if job.state is JobState.PAUSED:
                self.resume(list(self.model.jobs).index(job.id))
        for _ in range(20):
            if not self.model.unfinished():
                break
            self.time_passes(LEASE_S + 1)
            self.reap()
            self.work([*ALL_QUEUES] * 40, 2)
        assert [job.states for job in self.model.unfinished()] == []
        self.counters_equal_what_the_model_says()
        assert self.store.audit_counters() == ()

    # Helpers

    def _awake(self) -> dict[WorkQueue, dict[str, str]]:
        return {queue: fields_of(self.client, self.keys.of("awake", queue)) for queue in QUEUES}

    def _tickets(self, job: ModelJob, awake: dict[WorkQueue, dict[str, str]]) -> Tickets:
        """For all that is ready of the job, which was not before. awake: before that."""
        ready = Counter(queue_of(job, item) for item in job.ready)
        for queue, known in awake.items():
            if ready[queue] and known:
                is_needless = max(int(known["looking"]), int(known["rung"])) > self.clock.now_ms
                ready[queue] = 0 if is_needless else 1
        return Tickets({queue: count for queue, count in ready.items() if count})

    def planned(self) -> list[ModelJob]:
        return [job for job in self.model.jobs.values() if job.total]

    @staticmethod
    def _segment_of(job: ModelJob, index: int) -> int:
        """Mostly one of the first few, which are done before others; now and then none of the job's."""
        return index % min(job.total, 3) if index % 10 else job.total + index

    def overtaken(self) -> list[Lease]:
        """Leases on items that another worker holds by now."""
        holdings = [(lease, self.model.holding(lease)) for lease in self.leases]
        return [lease for lease, holding in holdings if holding and holding.fence != lease.fence]

    def _pick(self, pick: int) -> Lease:
        """Mostly one of the newest leases, so that current ones are met often; any other now and then."""
        return self.leases[-1 - pick % min(len(self.leases), 6 if pick % 4 else len(self.leases))]

    def _pick_job(self, pick: int) -> ModelJob:
        return list(self.model.jobs.values())[pick % len(self.model.jobs)]

    def _record(self, job: ModelJob) -> JobRecord:
        return self.store.get(job.tenant, job.id)

    def _items(self, family: str, queue: WorkQueue, job: JobId) -> list[str]:
        key = self.keys.of("ready", queue, job) if family == "ready" else self.keys.of("parked", queue, job)
        return items_of(self.client, key)

    def _refused(self, lease: Lease, call: Callable[[], object]) -> bool:
        """Whether the model says that the store must refuse; then the store is asked and has to."""
        verdict = self.model.verdict(lease)
        if verdict == "held":
            return False
        self._expect(LeaseLost if verdict == "lost" else JobAborted, call)
        self.model.drop_if_cancelling(lease)
        return True

    @staticmethod
    def _expect(error: type[Exception], call: Callable[[], object]) -> None:
        try:
            answer = call()
        except error:
            return
        raise AssertionError(f"{answer!r} instead of {error.__name__}")

    def _snapshot(self) -> dict[str, Any]:
        """Everything in the database, for calls that must change nothing; but what fades by itself meanwhile."""
        return {key: self._content(key) for key in self.client.scan_iter() if ":claims:" not in key}

    def _content(self, key: str) -> Any:
        """A hash as its fields: the order in which a large one is dumped may change whenever it is read.

        But for when a ticket was last sent: what is repeated says again what is ready, as its first answer may be lost.
        """
        if self.client.type(key) != "hash":
            return self.client.dump(key)
        fields = self.client.hgetall(key)
        if ":awake:" in key:
            fields.pop("rung", None)
        return fields


SMALL_SET = "set-max-listpack-entries"


@pytest.mark.timeout(600)  # a failure is shrunk for up to five minutes
def test_no_order_of_calls_parts_the_store_from_its_model(redis_client: redis.Redis) -> None:
    class Machine(JobMachine):
        def __init__(self) -> None:
            super().__init__(redis_client)

    # A small set is scanned in one go; the audit shall meet its jobs one by one.
    small = redis_client.config_get(SMALL_SET)[SMALL_SET]
    assert small is not None
    redis_client.config_set(SMALL_SET, 0)
    try:
        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=examples(80),
                stateful_step_count=60,
                deadline=None,
                derandomize=True,
                suppress_health_check=KNOWN,
            ),
        )
    finally:
        redis_client.config_set(SMALL_SET, small)
