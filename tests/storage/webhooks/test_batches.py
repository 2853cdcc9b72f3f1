"""Several deliveries in one call come to the same as so many calls of one."""

from __future__ import annotations

import redis

from rhapsode.contract.webhooks import DeliveryState
from storage.ids import Target
from storage.jobs.delivery_limits import MAX_IN_FLIGHT
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import WorkerIdentity
from storage.jobs.work_queues import HOOKS_QUEUE
from storage.webhooks.deliveries import CLAIM_BATCH, LEASE_S
from tests.storage.job_store.job_driver import ALICE, BOB
from tests.storage.webhooks.world import HOOKS, WebhookWorld

ONE = Tickets({HOOKS_QUEUE: 1})


def proven(world: WebhookWorld, number: int) -> list[Target]:
    """Endpoints that have taken a delivery each."""
    targets = [world.endpoint(("job.cancelled",), url=f"https://{each}.example/").target for each in range(number)]
    world.end_job()
    for claimed in world.claim_batch(CLAIM_BATCH, CLAIM_BATCH):
        world.succeed(claimed)
    return targets


def test_fifty_are_claimed_with_one_call_and_settled_with_one(world: WebhookWorld) -> None:
    proven(world, 20)
    for _ in range(4):
        world.end_job()

    first, second = world.claim_batch(100, 0), world.claim_batch(100, 0)
    states = world.queue.done([(claimed, world.success()) for claimed in first])

    assert (len(first), len(second)) == (CLAIM_BATCH, 80 - CLAIM_BATCH)
    assert states == [DeliveryState.DELIVERED] * CLAIM_BATCH


def test_within_a_batch_targets_take_turns_and_have_four_attempts_each(world: WebhookWorld) -> None:
    targets = proven(world, 3)
    for _ in range(6):
        world.end_job()

    claimed = [each.record.target for each in world.claim_batch(CLAIM_BATCH, 0)]

    assert len(claimed) == MAX_IN_FLIGHT * len(targets)
    for start in range(0, len(claimed), len(targets)):
        assert set(claimed[start : start + len(targets)]) == set(targets)


def test_within_a_batch_suspects_come_last_one_attempt_each_and_no_more_than_there_is_room_for(
    world: WebhookWorld,
) -> None:
    (healthy,) = proven(world, 1)
    for number in range(5):
        world.endpoint(("job.cancelled",), tenant=BOB, url=f"https://new-{number}.example/")
    for tenant in (BOB, BOB, ALICE):
        world.end_job(tenant)

    claimed = world.claim_batch(CLAIM_BATCH, 3)

    assert [each.is_suspect for each in claimed] == [False, True, True, True]
    assert claimed[0].record.target == healthy
    assert len({each.record.target for each in claimed}) == 4


def test_a_batch_of_verdicts_is_as_many_verdicts(world: WebhookWorld) -> None:
    """One of them late: its lease was over, and it changes nothing."""
    proven(world, 3)
    world.end_job()
    late, *_ = world.claim_batch(CLAIM_BATCH, 0)
    world.queue.give_back(WorkerIdentity(HOOKS.name, "second"))
    anew = {each.record.id: each for each in world.claim_batch(CLAIM_BATCH, 0)}
    again, good = anew.pop(late.record.id), anew.popitem()[1]

    states = world.queue.done([(late, world.success()), (again, world.failure(5_000)), (good, world.success())])

    assert states == [None, DeliveryState.PENDING, DeliveryState.DELIVERED]


def test_a_batch_that_is_said_twice_counts_once(world: WebhookWorld) -> None:
    proven(world, 3)
    world.end_job()
    said = [(each, world.success()) for each in world.claim_batch(CLAIM_BATCH, 0)]

    assert world.queue.done(said) == world.queue.done(said) == [DeliveryState.DELIVERED] * 3
    assert [len(world.store.delivery_with_attempts(ALICE, claimed.record.id)[1]) for claimed, _ in said] == [1] * 3


def test_a_batch_whose_worker_died_is_due_again_and_nothing_else(world: WebhookWorld) -> None:
    proven(world, 10)
    for _ in range(4):
        world.end_job()
    claimed = world.claim_batch(40, 0)
    world.queue.done([(each, world.success()) for each in claimed[:15]])

    world.clock.advance(LEASE_S)

    assert world.queue.reap(100) == 25
    assert {each.record.id for each in world.claim_batch(40, 0)} == {each.record.id for each in claimed[15:]}


def test_bodies_are_frozen_together_and_the_first_of_each_counts(
    world: WebhookWorld, redis_client: redis.Redis
) -> None:
    proven(world, 3)
    world.end_job()
    first, second, third = (each.record.id for each in world.claim_batch(CLAIM_BATCH, 0))
    world.queue.freeze({second: "earlier"})
    redis_client.delete(f"{{rhapsode}}:w:delivery:{third}")

    assert world.queue.freeze({first: "a", second: "b", third: "c"}) == {first: "a", second: "earlier"}
    assert world.queue.freeze({}) == {}


def test_a_worker_is_called_once_until_it_found_that_nothing_more_is_due(world: WebhookWorld) -> None:
    """A ticket for each delivery would cost more than the delivery."""
    world.endpoint(("job.cancelled",))

    def tickets() -> Tickets:
        return world.jobs.cancel(ALICE, world.submit().id).tickets

    assert [tickets() for _ in range(3)] == [ONE, Tickets(), Tickets()]
    world.succeed(world.take())
    # There is more, and the worker knows.
    assert tickets() == Tickets()
    while claimed := world.claim_batch(CLAIM_BATCH, 1):
        world.queue.done([(each, world.success()) for each in claimed])
    assert [tickets() for _ in range(2)] == [ONE, Tickets()]


def test_what_is_due_gets_a_ticket_for_each_claim(world: WebhookWorld) -> None:
    proven(world, 20)
    for _ in range(4):
        world.end_job()

    assert world.queue.due() == {HOOKS_QUEUE: 2}
