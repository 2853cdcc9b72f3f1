"""What a Redis client that decodes its answers holds, as the texts that they are."""

from __future__ import annotations

from collections.abc import Iterable

import redis


def text_of(value: bytes | str) -> str:
    assert isinstance(value, str), "the client was to decode its answers"
    return value


def texts_of(values: Iterable[bytes | str]) -> list[str]:
    return [text_of(value) for value in values]


def all_keys(client: redis.Redis) -> list[str]:
    """Of the whole database, in order."""
    return sorted(texts_of(client.keys("*")))


def fields_of(client: redis.Redis, key: str) -> dict[str, str]:
    """A hash."""
    return {text_of(field): text_of(value) for field, value in client.hgetall(key).items()}


def items_of(client: redis.Redis, key: str) -> list[str]:
    """A list, from its head."""
    return texts_of(client.lrange(key, 0, -1))


def members_of(client: redis.Redis, key: str) -> list[str]:
    """A sorted set, lowest score first."""
    members: list[str] = []
    for member in client.zrange(key, 0, -1):
        assert isinstance(member, str), "the client was to decode its answers"
        members.append(member)
    return members


def scores_of(client: redis.Redis, key: str) -> dict[str, float]:
    """A sorted set's members with their scores."""
    scores: dict[str, float] = {}
    for member, score in client.zrange(key, 0, -1, withscores=True):
        assert isinstance(member, str), "the client was to decode its answers"
        assert isinstance(score, float)
        scores[member] = score
    return scores
