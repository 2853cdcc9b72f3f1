"""One seeded interleaving of callers and builders around few voices; every step is one call of the store."""

from __future__ import annotations

import random

import redis

from storage.ids import JobId
from storage.voices.records import VoiceRecord
from tests.storage.voices.voice_world import Builder, VoiceWorld, content_of

NUM_STEPS = 24
RECORDINGS = ("hello", "good morning")
"""Few, so that voices share contents and a re-upload may come back to the first recording."""

WEIGHTS = {
    "create": 2,
    "delete": 1,
    "replace": 2,
    "request": 4,
    "rebuild": 2,
    "end_job": 1,
    "claim": 5,
    "put": 5,
    "commit": 5,
    "fail": 1,
    "lose": 1,
    "give_up": 0.5,
    "sweep": 1,
}


class Interleaving:
    """The actors and what each of them last saw, which others may have changed since."""

    def __init__(self, client: redis.Redis, seed: int) -> None:
        self.random = random.Random(seed)
        self.world = VoiceWorld(client)
        self.seen: list[VoiceRecord] = []
        self.num_names = 0
        self.num_lost = 0
        for _ in range(2):
            self.create()
        self.world.start_job()

    def run(self) -> None:
        actions = self.random.choices(list(WEIGHTS), list(WEIGHTS.values()), k=NUM_STEPS)
        for action in actions:
            getattr(self, action)()
        self.world.check()
        for builder in self.world.builders:
            if builder.stored is not None:
                self.world.commit(builder)
        self.world.check()
        self.world.check_no_leak()

    def create(self) -> None:
        self.num_names += 1
        record = self.world.create(f"voice {self.num_names % 4}", self.random.choice(RECORDINGS))
        if record is not None:
            self.seen.append(record)

    def delete(self) -> None:
        self.world.delete(self.voice().id)

    def replace(self) -> None:
        seen = self.voice()
        self.world.replace(seen, self.random.choice(RECORDINGS))
        if seen.id in self.world.voices:
            self.seen.append(self.world.voices[seen.id])

    def request(self) -> None:
        self.world.request(self.voice(), self.job())

    def rebuild(self) -> None:
        job = self.world.start_job() if self.random.random() < 0.5 else self.job()
        self.world.rebuild(self.voice(), job)

    def end_job(self) -> None:
        self.world.end_job(self.job())
        self.world.start_job()

    def claim(self) -> None:
        self.world.claim(content_of(self.voice()), self.job())

    def put(self) -> None:
        if builder := self.builder():
            self.world.put(builder)

    def commit(self) -> None:
        if (builder := self.builder()) and builder.stored is not None:
            self.world.commit(builder)

    def fail(self) -> None:
        if builder := self.builder():
            self.world.fail(builder)

    def lose(self) -> None:
        if builder := self.builder():
            self.num_lost += 1
            self.world.lose(builder.lease)

    def give_up(self) -> None:
        if builder := self.builder():
            self.num_lost += 1
            self.world.give_up(builder.lease)

    def sweep(self) -> None:
        self.world.sweep()

    def voice(self) -> VoiceRecord:
        """As somebody saw it; half of the time as it is."""
        current = list(self.world.voices.values())
        return self.random.choice(current if current and self.random.random() < 0.5 else self.seen)

    def job(self) -> JobId:
        return self.random.choice(self.world.jobs[-3:])

    def builder(self) -> Builder | None:
        mine = [builder for builder in self.world.builders if builder.is_mine]
        return self.random.choice(mine[-4:]) if mine else None


def run_interleaving(client: redis.Redis, seed: int) -> Interleaving:
    """Raises `AssertionError` when something does not hold; the database is emptied first."""
    client.flushdb()
    story = Interleaving(client, seed)
    story.run()
    return story
