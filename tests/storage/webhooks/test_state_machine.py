"""No order of events, attempts, deaths and changes loses a delivery, doubles one or leaves a target unserved."""

from __future__ import annotations

import os
from collections import Counter

import redis
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from rhapsode.contract.webhooks import DeliveryState, EndpointState
from storage.ids import DeliveryId
from storage.jobs.delivery_limits import BREAKER_FAILURES, MAX_IN_FLIGHT
from storage.jobs.work_items import WorkerIdentity
from storage.webhooks.deliveries import LEASE_S
from storage.webhooks.errors import DeliveryBusy
from storage.webhooks.records import ClaimedDelivery, EndpointUpdate
from tests.storage.audio.decoded import members_of
from tests.storage.health_checks import KNOWN
from tests.storage.job_store.job_driver import ALICE
from tests.storage.webhooks.world import HOOKS, WebhookWorld

EXAMPLES = int(os.environ.get("RHAPSODE_TEST_EXAMPLES", "10"))
PICK = st.integers(0, 10_000)
ROOT = "{rhapsode}:w:"
STATES = {"waiting": {"pending"}, "flying": {"sending"}, "ended": {"delivered", "failed"}}
"""Where a delivery is, by what it is."""


class WebhookMachine(RuleBasedStateMachine):
    client: redis.Redis

    def __init__(self) -> None:
        super().__init__()
        self.client.flushdb()
        self.world = WebhookWorld(self.client)
        self.endpoints = [self.world.endpoint(("job.cancelled",), url=f"https://{name}.example/") for name in "ab"]
        self.deleted: set[str] = set()
        self.held: list[ClaimedDelivery] = []
        self.late: list[ClaimedDelivery] = []
        self.known: set[DeliveryId] = set()
        self.boot_id = 0

    @initialize()
    def begin(self) -> None:
        self.end_job()

    # What happens

    @rule()
    def end_job(self) -> None:
        job = self.world.end_job()
        told = {each.id for each in self.world.store.job_deliveries(ALICE, job)}
        enabled = [each for each in self.world.store.list(ALICE) if each.state is EndpointState.ENABLED]
        assert len(told) == len(enabled)
        assert not told & self.known
        self.known |= told

    @rule(seconds=st.sampled_from([0.001, 5, 29, 31, 400]))
    def time_passes(self, seconds: float) -> None:
        self.world.clock.advance(seconds)

    @rule(with_suspects=st.booleans())
    def claim(self, with_suspects: bool) -> None:
        due = self.world.queue.due().total()
        worker = WorkerIdentity(HOOKS.name, str(self.boot_id))
        claimed = self.world.claim(with_suspects=with_suspects, worker=worker)
        if claimed is not None:
            assert due > 0
            assert claimed.record.id not in {each.record.id for each in self.held}
            self.held.append(claimed)

    @rule(most=st.integers(1, 12), most_suspects=st.integers(0, 3))
    def claim_batch(self, most: int, most_suspects: int) -> None:
        due = self.world.queue.due().total()
        worker = WorkerIdentity(HOOKS.name, str(self.boot_id))
        claimed = self.world.claim_batch(most, most_suspects, worker)
        assert due > 0 or not claimed
        assert len(claimed) <= most
        assert sum(each.is_suspect for each in claimed) <= most_suspects
        ids = [each.record.id for each in claimed]
        assert len(set(ids)) == len(ids)
        assert not set(ids) & {each.record.id for each in self.held}
        self.held += claimed

    @precondition(lambda self: self.held)
    @rule(goes_well=st.lists(st.booleans(), min_size=1, max_size=12))
    def batch_ends(self, goes_well: list[bool]) -> None:
        said = [
            (claimed, self.world.success() if is_well else self.world.failure())
            for claimed, is_well in zip(self.held, goes_well, strict=False)
        ]
        del self.held[: len(said)]
        expected = [DeliveryState.DELIVERED if verdict.is_delivered else DeliveryState.PENDING for _, verdict in said]
        assert self.world.queue.done(said) == expected
        self.late += [claimed for claimed, _ in said]

    @precondition(lambda self: self.held)
    @rule(pick=PICK, outcome=st.sampled_from(["success", "retry", "exhausted", "gone", "pause"]))
    def attempt_ends(self, pick: int, outcome: str) -> None:
        claimed = self.held.pop(pick % len(self.held))
        match outcome:
            case "success":
                assert self.world.succeed(claimed) is DeliveryState.DELIVERED
                assert self.world.succeed(claimed) is DeliveryState.DELIVERED
            case "retry":
                assert self.world.fail(claimed, 5_000) is DeliveryState.PENDING
            case "pause":
                assert self.world.fail(claimed, 5_000, pause_ms=60_000) is DeliveryState.PENDING
            case "exhausted":
                assert self.world.fail(claimed, None) is DeliveryState.FAILED
            case _:
                assert self.world.fail(claimed, 5_000, is_gone=True) is DeliveryState.FAILED
        self.late.append(claimed)

    @precondition(lambda self: self.held)
    @rule()
    def leases_run_out(self) -> None:
        self.world.clock.advance(LEASE_S)
        assert self.world.queue.reap(100) == len(self.held)
        self.late += self.held
        self.held.clear()

    @rule()
    def worker_dies(self) -> None:
        self.boot_id += 1
        assert self.world.queue.give_back(WorkerIdentity(HOOKS.name, str(self.boot_id))) == len(self.held)
        self.late += self.held
        self.held.clear()

    @precondition(lambda self: self.late)
    @rule(pick=PICK)
    def late_verdict(self, pick: int) -> None:
        """Of an attempt that is not the last one: it changes nothing."""
        claimed = self.late[pick % len(self.late)]
        before = self._snapshot(claimed.record.id)
        self.world.succeed(claimed)
        assert self._snapshot(claimed.record.id) == before

    @precondition(lambda self: self.known)
    @rule(pick=PICK)
    def redeliver(self, pick: int) -> None:
        delivery = sorted(self.known)[pick % len(self.known)]
        if delivery in {each.record.id for each in self.held}:
            try:
                self.world.store.redeliver(ALICE, delivery)
            except DeliveryBusy:
                return
            raise AssertionError("an attempt is under way")
        assert self.world.store.redeliver(ALICE, delivery).state is DeliveryState.PENDING

    @rule(pick=PICK, state=st.sampled_from(EndpointState))
    def switch(self, pick: int, state: EndpointState) -> None:
        endpoint = self.endpoints[pick % len(self.endpoints)].id
        if endpoint not in self.deleted:
            self.world.store.update(ALICE, endpoint, EndpointUpdate(state=state))

    @rule()
    def delete_one(self) -> None:
        self.world.store.delete(ALICE, self.endpoints[1].id)
        self.deleted.add(self.endpoints[1].id)

    # What must hold

    @invariant()
    def every_delivery_is_in_one_place(self) -> None:
        places: Counter[str] = Counter()
        for kind, states in STATES.items():
            for key in self.client.scan_iter(f"{ROOT}{kind}:*", count=100):
                for member in members_of(self.client, key):
                    delivery = member.partition("|")[0]
                    places[delivery] += 1
                    state = self.client.hget(f"{ROOT}delivery:{delivery}", "state")
                    assert state in states
        assert set(places) == self.known
        assert set(places.values()) <= {1}

    @invariant()
    def flights_are_what_is_held(self) -> None:
        held = {f"{each.record.id}|{each.fence}" for each in self.held}
        assert set(self.client.zrange(f"{ROOT}flights", 0, -1)) == held
        assert set(self.client.hkeys(f"{ROOT}holder:{HOOKS.name}")) == held

    @invariant()
    def a_target_stands_in_line_exactly_while_it_can_be_served(self) -> None:
        due, suspects = (set(self.client.zrange(f"{ROOT}{name}", 0, -1)) for name in ("due", "suspects"))
        assert not due & suspects
        for endpoint in self.endpoints:
            target = endpoint.target
            proven, failures = self.client.hmget(f"{ROOT}target:{target}", "proven", "failures")
            most = MAX_IN_FLIGHT if proven and int(failures or 0) < BREAKER_FAILURES else 1
            waits = self.client.zcard(f"{ROOT}waiting:{target}") > 0
            is_served = self.client.zcard(f"{ROOT}flying:{target}") < most
            assert (target in due | suspects) == (waits and is_served)
            assert (target in due) <= (bool(proven) and not int(failures or 0))

    def teardown(self) -> None:
        """Whatever happened, everything comes to its end once receivers are well."""
        self.worker_dies()
        for _ in range(4 * len(self.known) + 20):
            claimed = self.world.claim()
            if claimed is None:
                self.world.clock.advance(301)
                continue
            assert self.world.succeed(claimed) is DeliveryState.DELIVERED
        states = {self.client.hget(f"{ROOT}delivery:{delivery}", "state") for delivery in self.known}
        assert states <= {"delivered", "failed"}
        assert self.client.zcard(f"{ROOT}due") == self.client.zcard(f"{ROOT}suspects") == 0

    def _snapshot(self, delivery: DeliveryId) -> object:
        return self.client.hgetall(f"{ROOT}delivery:{delivery}"), self.client.lrange(
            f"{ROOT}attempts:{delivery}", 0, -1
        )


def test_no_order_of_calls_loses_or_doubles_a_delivery(redis_client: redis.Redis) -> None:
    machine = type("Machine", (WebhookMachine,), {"client": redis_client})
    limits = settings(
        max_examples=EXAMPLES,
        stateful_step_count=30,
        deadline=None,
        suppress_health_check=KNOWN,
    )
    run_state_machine_as_test(machine, settings=limits)
