"""Where an item waits for a worker: one queue for plans and assemblies, one for each model that speaks. Pure.

A queue is a ready list in Redis with its counts and its turns, and a Celery queue of the same name for the tickets. A
worker takes from one queue only, so that no worker is ever given an item of another model.
"""

from __future__ import annotations

import enum
import hashlib
import re

from storage.ids import WorkQueue

CPU_QUEUE = WorkQueue("cpu")

HOOKS_QUEUE = WorkQueue("hooks")
"""Tickets of webhook deliveries, which have a separate order: see `storage.webhooks.deliveries`."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Lane(enum.StrEnum):
    """What a worker process does: `cpu` plans and assembles, `gpu` synthesises. Where items wait: `WorkQueue`."""

    CPU = "cpu"
    GPU = "gpu"


def speech_queue(model: str) -> WorkQueue:
    """The queue of a model's items.

    An operator names a model, perhaps after a folder. A digest replaces a very long name, or one with special
    characters of keys or brokers. "~" marks the digests.
    """
    if _PLAIN_NAME.fullmatch(model):
        return WorkQueue(f"gpu.{model}")
    return WorkQueue(f"gpu.~{hashlib.sha256(model.encode()).hexdigest()[:32]}")
