"""What webhooks are told of voices and their caches, each in the script that changes them."""

from __future__ import annotations

import json
import time

import redis

from storage.ids import new_endpoint_id
from storage.webhooks.deliveries import WebhookQueue
from storage.webhooks.records import DeliveryAttempt, DeliveryVerdict, NewEndpoint
from storage.webhooks.store import WebhookStore
from tests.storage.voices.voice_world import ALICE, MODEL, VoiceWorld, content_of
from tests.storage.webhooks.world import HOOKS, URL


def told(client: redis.Redis) -> list[tuple[str, dict[str, object]]]:
    """Every event that waits, with its facts."""
    queue, found = WebhookQueue(client), []
    while batch := queue.claim(HOOKS, round(time.time() * 1000), most=1, most_suspects=1)[0]:
        found += [(claimed.record.type, json.loads(claimed.record.facts or "")) for claimed in batch]
        queue.done([(claimed, DeliveryVerdict(DeliveryAttempt(0, 1, 200, ""), is_delivered=True)) for claimed in batch])
    return found


def test_a_voice_tells_of_its_beginning_its_caches_and_its_end(redis_client: redis.Redis) -> None:
    WebhookStore(redis_client).create(NewEndpoint(new_endpoint_id(), ALICE, URL, ("*",), "sealed", "https://api"))
    voices = VoiceWorld(redis_client)
    voice = voices.create("Ada", "hello")
    assert voice is not None
    job = voices.start_job()
    voices.request(voice, job)

    builder = voices.claim(content_of(voice), job)
    voices.put(builder)
    voices.commit(builder)
    voices.rebuild(voice, again := voices.start_job())
    voices.fail(voices.claim(content_of(voice), again))
    voices.delete(voice.id)

    events = told(redis_client)
    assert [kind for kind, _ in events] == ["voice.created", "voice.cache.ready", "voice.cache.failed", "voice.deleted"]
    assert {facts["voice"] for _, facts in events} == {voice.id}
    assert {facts["name"] for _, facts in events} == {"Ada"}
    assert events[1][1]["model"] == MODEL
    assert json.loads(str(events[2][1]["error"]))["code"] == "unsupported_media"


def test_a_voice_whose_content_is_ready_already_tells_that_its_cache_is_once(redis_client: redis.Redis) -> None:
    WebhookStore(redis_client).create(
        NewEndpoint(new_endpoint_id(), ALICE, URL, ("voice.cache.ready",), "sealed", "https://api")
    )
    voices = VoiceWorld(redis_client)
    first, second = voices.create("Ada", "hello"), voices.create("Bea", "hello")
    assert first is not None
    assert second is not None
    voices.request(first, job := voices.start_job())
    builder = voices.claim(content_of(first), job)
    voices.put(builder)
    voices.commit(builder)

    for _ in range(2):
        voices.request(second, voices.start_job())

    assert [facts["voice"] for _, facts in told(redis_client)] == [first.id, second.id]
