"""A worker of several checkpoints: what others of them it may be asked for, and when it leaves to load one.

It has one model at a time and compares the backlogs every two seconds. Where `swap_choice` wants another model, and no
other worker is loading it, the process ends in order and continues as its worker (`worker.process.successor`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from storage.database.redis_errors import StateRedis
from storage.errors import StoreUnavailable
from storage.ids import WorkQueue
from storage.jobs.work_queues import speech_queue
from storage.queue.model_registry import ModelCard, ModelRegistry
from storage.queue.overview import QueueOverview, QueueOverviews
from storage.queue.swaps import RENEW_INTERVAL_S, Swaps
from worker.engine.description import describe
from worker.engine.interface import EngineInfo
from worker.lifecycle.model_card import CARD_INTERVAL_S, model_card
from worker.lifecycle.presence import Presence
from worker.lifecycle.swap_choice import ModelQueue, OwnModel, choose
from worker.process.periodic import Periodic
from worker.settings import WorkerSettings
from worker.speech.quality.recognisers.installed import worker_recognisers

logger = logging.getLogger(__name__)

LOOK_INTERVAL_S = 2.0


@dataclass(frozen=True, slots=True)
class OtherModel:
    """embeddings: of its speakers, if they are known here."""

    card: ModelCard
    embeddings: tuple[tuple[float, ...], ...] = ()


class CheckpointSwaps:
    """`begin` before the engine is started; then `arrived` once tickets may come, or `failed`; `close` at the end.

    Each once. Everything but `failed` and `close` raises `StoreUnavailable`.

    leave: asks the process to leave for a checkpoint; False if it cannot now. is_at_work: whether items of this model
    are under way here.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        redis: StateRedis,
        worker: str,
        presence: Presence,
        *,
        leave: Callable[[Path], bool],
        is_at_work: Callable[[], bool],
    ) -> None:
        self._settings = settings
        self._worker = worker
        self._presence = presence
        self._leave = leave
        self._is_at_work = is_at_work
        self._swaps = Swaps(redis, settings.key_prefix)
        self._overviews = QueueOverviews(redis, settings.key_prefix)
        self._registry = ModelRegistry(redis, settings.key_prefix)
        self._renewals = Periodic("swap", RENEW_INTERVAL_S, self._renew)
        self._looks = Periodic("swaps", LOOK_INTERVAL_S, self._look)
        self._cards: Periodic | None = None
        self._cost_s = 0.0
        self._ready_s = self._idle_since_s = time.monotonic()
        self._own_slots = 0

    def begin(self) -> None:
        """Report whether this process has left another model for its own, and publish the cards of the others.

        Raises `CheckpointError` for one that cannot be used.
        """
        is_arriving = self._swaps.resume(self._settings.queue, self._worker)
        if is_arriving:
            self._renewals.start()
            self._presence.report(lambda report: replace(report, is_loading=True))
        others = self._other_models(is_known=is_arriving)
        self._publish(others)
        self._cards = Periodic("other-model-cards", CARD_INTERVAL_S, lambda: self._publish(others))
        self._cards.start()

    def failed(self) -> None:
        """The engine did not start."""
        self._renewals.close()
        try:
            self._swaps.failed(self._settings.queue, self._worker)
        except StoreUnavailable as error:
            logger.warning("others may try to load this model as well", extra={"error": str(error)})

    def arrived(self, slots: int) -> None:
        """slots: that this worker has."""
        self._renewals.close()
        took_s = self._swaps.arrived(self._settings.queue, self._worker)
        self._ready_s = self._idle_since_s = time.monotonic()
        self._cost_s = took_s or 0.0
        self._own_slots = slots
        if took_s is not None:
            logger.info("another model loaded", extra={"model": self._settings.model_name, "took_s": round(took_s, 1)})
        self._looks.start()

    def close(self) -> None:
        for each in (self._renewals, self._looks, self._cards):
            if each is not None:
                each.close()

    def _other_models(self, *, is_known: bool) -> tuple[OtherModel, ...]:
        """is_known: the registry's cards are not older than this worker."""
        known = {name: self._registry.get(name) for name in self._settings.other_checkpoints if is_known}
        unknown = {name: folder for name, folder in self._settings.other_checkpoints.items() if known.get(name) is None}
        infos = describe(tuple(unknown.values()), self._settings.engine_settings()) if unknown else ()
        return (
            *(OtherModel(card) for card in known.values() if card is not None),
            *(self._described(name, info) for name, info in zip(unknown, infos, strict=True)),
        )

    def _publish(self, models: Sequence[OtherModel]) -> None:
        for each in models:
            self._registry.publish(each.card, each.embeddings)

    def _look(self) -> None:
        """Leave, if another model needs this worker more than its own does."""
        if self._presence.is_leaving:
            return
        overview = self._overviews.read()
        queues = {queue.name: queue for queue in overview.queues}
        own = queues.get(self._settings.queue)
        if self._is_at_work() or (own is not None and own.ready_items):
            self._idle_since_s = time.monotonic()
        if overview.claims_held:
            return
        others = (
            _waiting(name, queues[queue])
            for name in self._settings.other_checkpoints
            if (queue := speech_queue(name)) in queues
        )
        model = choose(self._own(own), others)
        if model is not None:
            self._go(model, speech_queue(model))

    def _go(self, model: str, queue: WorkQueue) -> None:
        if not self._swaps.begin(queue, self._worker):
            return
        if not self._leave(self._settings.other_checkpoints[model]):
            self._swaps.given_up(queue, self._worker)
            return
        logger.info("leaving for another model", extra={"model": model})

    def _own(self, queue: QueueOverview | None) -> OwnModel:
        now_s = time.monotonic()
        return OwnModel(
            served_s=now_s - self._ready_s,
            cost_s=self._cost_s,
            idle_s=now_s - self._idle_since_s,
            has_others=queue is not None and queue.slots > self._own_slots,
        )

    def _described(self, name: str, info: EngineInfo) -> OtherModel:
        settings = self._settings
        recognisers = worker_recognisers(
            settings.recogniser, settings.whisper_model, settings.device, info.languages, places=1
        )
        card = model_card(name, replace(info, model=name), tuple(recognisers))
        return OtherModel(card, info.speaker_embeddings)

    def _renew(self) -> None:
        self._swaps.begin(self._settings.queue, self._worker)


def _waiting(model: str, queue: QueueOverview) -> ModelQueue:
    waits_ms = [each.oldest_wait_ms or 0 for each in queue.classes.values()]
    return ModelQueue(
        model=model,
        ready_items=queue.ready_items,
        slots=queue.slots,
        backlog_s=queue.backlog_ms / 1000,
        pace=queue.pace,
        oldest_wait_s=max(waits_ms, default=0) / 1000,
    )
