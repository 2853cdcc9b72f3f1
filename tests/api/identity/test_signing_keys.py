"""When an issuer is asked for its keys: as they change, as it is away, and as strangers make up names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from joserfc.jwk import OctKey, RSAKey

from api.identity.errors import KeysUnavailable
from api.identity.rules import TokenRules
from api.identity.signing_keys import FRESH_S, GOOD_S, PAUSE_S, SigningKeys
from storage.webhooks.http import safe_client
from tests.api.identity.issuer import AUDIENCE, Issuer, serving_issuer

SECOND = RSAKey.generate_key(2048, {"kid": "second"})


@dataclass
class Clock:
    now_s: float = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with serving_issuer() as issuer:
        yield issuer


@pytest.fixture
def clock() -> Clock:
    return Clock()


def told(issuer: Issuer, clock: Clock, story: Callable[[SigningKeys], Coroutine[Any, Any, None]]) -> int:
    """How often the keys were asked for in the story."""
    rules = TokenRules(issuer.url, AUDIENCE, "tenant", "")

    async def run() -> None:
        await story(SigningKeys(rules, safe_client("loopback"), clock))

    asyncio.run(run())
    return issuer.asked.count("/keys")


async def settled() -> None:
    """What was begun behind a request is done."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others)


def test_keys_are_read_once_for_many_who_wait(issuer: Issuer, clock: Clock) -> None:
    async def story(keys: SigningKeys) -> None:
        found = await asyncio.gather(*(keys.find("first") for _ in range(50)))
        assert all(key is not None and key.kid == "first" for key in found)
        assert (await keys.find(None)) is not None, "there is one key, so it needs no name"

    assert told(issuer, clock, story) == 1


def test_a_new_key_is_found_at_once_and_an_old_one_goes(issuer: Issuer, clock: Clock) -> None:
    async def story(keys: SigningKeys) -> None:
        assert await keys.find("first")
        issuer.publish(issuer.key, SECOND)
        clock.now_s += PAUSE_S
        assert await keys.find("second")
        issuer.publish(SECOND)
        clock.now_s += FRESH_S + 1
        assert await keys.find("first"), "nobody waits for the renewal"
        await settled()
        assert await keys.find("first") is None

    assert told(issuer, clock, story) == 3


def test_names_that_strangers_make_up_do_not_have_the_issuer_asked_each_time(issuer: Issuer, clock: Clock) -> None:
    async def story(keys: SigningKeys) -> None:
        for number in range(100):
            assert await keys.find(f"made-up-{number}") is None

    assert told(issuer, clock, story) == 1


def test_known_keys_outlast_an_issuer_that_is_away_for_a_day(issuer: Issuer, clock: Clock) -> None:
    async def story(keys: SigningKeys) -> None:
        assert await keys.find("first")
        published = issuer.answers.pop("/keys")
        clock.now_s += FRESH_S + 1
        assert await keys.find("first")
        await settled()
        assert await keys.find("first")
        clock.now_s += GOOD_S
        with pytest.raises(KeysUnavailable):
            await keys.find("first")
        issuer.answers["/keys"] = published
        with pytest.raises(KeysUnavailable):
            await keys.find("first")
        clock.now_s += PAUSE_S
        assert await keys.find("first")

    told(issuer, clock, story)


@pytest.mark.parametrize("document", [[], {}, {"keys": 3}, "keys"])
def test_what_is_no_document_of_keys_changes_nothing(issuer: Issuer, clock: Clock, document: object) -> None:
    async def story(keys: SigningKeys) -> None:
        issuer.answers["/keys"] = document
        with pytest.raises(KeysUnavailable):
            await keys.find("first")

    told(issuer, clock, story)


def test_what_signs_nothing_here_is_passed_over(issuer: Issuer, clock: Clock) -> None:
    secret = OctKey.generate_key(256, {"kid": "secret"})
    sealing = RSAKey.generate_key(2048, {"kid": "sealing", "use": "enc"})
    issuer.publish(sealing, issuer.key)
    issuer.answers["/keys"]["keys"] += [secret.as_dict(private=True), {"kty": "from the future", "kid": "x"}, 7]

    async def story(keys: SigningKeys) -> None:
        assert [await keys.find(name) is not None for name in ("first", "secret", "sealing", "x")] == [
            True,
            False,
            False,
            False,
        ]

    told(issuer, clock, story)
