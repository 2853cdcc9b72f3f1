"""The lane that speaks, in one worker process: engine, post-processors, quality gate, live server, model card."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from storage.database.redis_errors import StateRedis
from storage.errors import StorageError
from storage.job_store.segment_reads import SegmentReader
from storage.job_store.segment_reuse import ReuseIndex
from storage.queue.model_registry import ModelRegistry
from storage.queue.worker_registry import REPORT_INTERVAL_S
from storage.runtime.config.settings import SettingsError
from worker.engine.errors import EngineError
from worker.engine.interface import Engine, EngineInfo
from worker.engine.process.engine_process import EngineProcess, ProcessTimes
from worker.items.gpu_ticket import GpuTickets
from worker.items.leases.claim_ahead import ClaimAhead
from worker.lifecycle.fronts.fronts import Fronts
from worker.lifecycle.live.processes import LiveProcesses
from worker.lifecycle.model_card import CARD_INTERVAL_S, model_card
from worker.process.engine_meter import EngineMeter
from worker.process.periodic import Periodic
from worker.services import SpeechServices, WorkerServices
from worker.settings import WorkerSettings
from worker.speech.postprocessing.child import PostProcessorUnusable
from worker.speech.postprocessing.in_process import InProcessPostProcessor
from worker.speech.postprocessing.interface import PostProcessor
from worker.speech.postprocessing.packing import PLACES_SHARE, SegmentPacker
from worker.speech.postprocessing.pool import PostProcessorPool
from worker.speech.quality.calibration.calibration_file import UNCALIBRATED, CalibrationUnreadable
from worker.speech.quality.gate import QualityGate, checkpoint_calibration
from worker.speech.quality.norms_cache import NormsCache
from worker.speech.quality.recognisers.installed import RecogniserUnusable, worker_recognisers
from worker.voices.cache import PromptCache
from worker.voices.resolving import VoiceResolver

if TYPE_CHECKING:
    from worker.live.server import LiveServer

logger = logging.getLogger(__name__)

START_ERRORS = (
    SettingsError,
    StorageError,
    EngineError,
    PostProcessorUnusable,
    CalibrationUnreadable,
    RecogniserUnusable,
)
"""What `SpeechLane` raises. A worker reports them in one line, without a traceback."""


class SpeechLane:
    """Loads everything. Raises one of `START_ERRORS`, after closing what it had started."""

    def __init__(self, settings: WorkerSettings, redis: StateRedis, worker: WorkerServices) -> None:
        self._settings = settings
        self._redis = redis
        self._periodic: list[Periodic] = []
        self._pool: PostProcessorPool | None = None
        self._engine: EngineProcess | None = None
        try:
            self.services = self._loaded(worker)
            self._tickets = GpuTickets(self.services, settings.num_places // settings.num_fronts)
            assert self._engine is not None  # noqa: S101  (loaded before)
            self.fronts = Fronts(settings, worker.identity.name, self._engine, self._tickets)
            self.live = self._live(self._engine)
        except BaseException:
            self.close()
            raise
        worker.gate.others = self.fronts.held_back

    def start(self) -> None:
        """Begin what is repeated."""
        self.fronts.start()
        for each in self._periodic:
            each.start()

    def end_items(self) -> None:
        """Returns when the last item has ended."""
        self._tickets.close()

    def abandon_calls(self) -> None:
        """End the post-processors: one may hang, and its calls would wait longer than a supervisor does."""
        if self._pool is not None:
            self._pool.close()

    def close(self) -> None:
        """After `end_items`, and after the live server is closed."""
        for each in self._periodic:
            each.close()
        if self._engine is not None:
            self._engine.close()
        self.abandon_calls()

    def _loaded(self, worker: WorkerServices) -> SpeechServices:
        settings, redis = self._settings, self._redis
        postprocessor = postprocessor_of(settings, worker)
        self._pool = postprocessor if isinstance(postprocessor, PostProcessorPool) else None
        times = ProcessTimes(watchdog_s=settings.engine_watchdog_s)
        engine = self._engine = EngineProcess(settings.engine_settings(), times)
        engine.start()
        self.meter = EngineMeter(engine.stats, engine.info, lambda: engine.deaths)
        self._periodic.append(Periodic("engine-meter", REPORT_INTERVAL_S, self.meter.look))
        services = speech_services(settings, redis, worker, engine, postprocessor)
        self._publish_card(engine.info, services.quality.recognised_languages)
        return services

    def _publish_card(self, info: EngineInfo, recognised_languages: tuple[str, ...]) -> None:
        """Now, and again every `CARD_INTERVAL_S`."""
        settings = self._settings
        card = model_card(settings.model_name, info, recognised_languages)
        card = replace(card, notice=card.notice or settings.notice)
        if card.notice:
            logger.warning(card.notice)
        registry = ModelRegistry(self._redis, settings.key_prefix)
        registry.publish(card, info.speaker_embeddings)
        self._periodic.append(
            Periodic("model-card", CARD_INTERVAL_S, lambda: registry.publish(card, info.speaker_embeddings))
        )

    def _live(self, engine: EngineProcess) -> LiveServer | LiveProcesses:
        """In other processes where the engine has enough slots to keep this one busy."""
        settings, services = self._settings, self.services
        worker = services.worker
        live: LiveServer | LiveProcesses
        if self._pool is not None:
            live = LiveProcesses(settings, worker.identity.name, engine)
        else:
            # Here and not above: the other lane, and a worker with a live process, need nothing of what this loads.
            from worker.lifecycle.live.server import live_server

            bounds, artifacts = services.quality.bounds, worker.artifacts
            live = live_server(settings, worker.identity.name, engine, services.voices, artifacts, bounds, self.meter)
        live.start()
        return live


def postprocessor_of(settings: WorkerSettings, worker: WorkerServices) -> PostProcessor:
    """Of one front: processes beside it where the engine has enough slots to keep them busy."""
    if not settings.num_postprocessors:
        return InProcessPostProcessor(worker.artifacts)
    store = "folder" if settings.store.startswith("file:") else "s3"
    number, places = settings.num_postprocessors // settings.num_fronts, settings.num_places // settings.num_fronts
    pool = PostProcessorPool(number, places, store, worker.identity.name)
    pool.start()
    return pool


def speech_services(
    settings: WorkerSettings, redis: StateRedis, worker: WorkerServices, engine: Engine, postprocessor: PostProcessor
) -> SpeechServices:
    """Of one front. Raises one of `START_ERRORS`."""
    slots = engine.info.slots // settings.num_fronts
    return SpeechServices(
        worker=worker,
        engine=engine,
        ahead=ClaimAhead(slots, lambda: num_decoding(engine) // settings.num_fronts),
        voices=VoiceResolver(worker.voice_store, worker.artifacts, engine, PromptCache()),
        quality=_quality_gate(settings, engine.info, postprocessor),
        norms=NormsCache(SegmentReader(redis, settings.key_prefix), engine.info.sample_rate_hz),
        reuse=ReuseIndex(redis, settings.key_prefix),
        postprocessor=postprocessor,
        packer=SegmentPacker(slots // PLACES_SHARE),
    )


def num_decoding(engine: Engine) -> int:
    """Requests behind the slots. 0 while no decoder is in reach: what a worker claims then would wait."""
    stats = engine.stats()
    return 0 if stats.lacks_decoder else stats.decoding


def _quality_gate(settings: WorkerSettings, info: EngineInfo, postprocessor: PostProcessor) -> QualityGate:
    """With the calibration of these weights and the installed recognisers."""
    calibration = UNCALIBRATED
    if settings.engine != "fake":
        calibration = checkpoint_calibration(settings.checkpoint, info.revision)
        if calibration is UNCALIBRATED:
            logger.warning("the checkpoint is not calibrated: the quality gate has only the bounds of all speech")
    # As many as judge at the same time.
    places = max(1, settings.num_postprocessors // settings.num_fronts)
    recognisers = worker_recognisers(
        settings.recogniser, settings.whisper_model, settings.device, info.languages, places
    )
    return QualityGate(calibration, recognisers, postprocessor.judge)
