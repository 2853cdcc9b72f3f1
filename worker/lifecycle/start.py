"""From the start of a worker process to its end: build the services, take back what a predecessor held, leave clean.

Once Celery says that it shuts down (see `signals`), tickets end at once, running items get some seconds to finish, and
what is left is cancelled and handed back, so that the next worker starts on it immediately and nothing counts as an
attempt.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from storage.database.connections import connect_redis, open_artifacts
from storage.database.schema_version import agree_on_layout
from storage.errors import StorageError, StoreUnavailable
from storage.job_store.plan_cache import PlanCache, VoicePlanCache
from storage.job_store.segment_reads import ResultSamples
from storage.job_store.segment_reuse import ReuseIndex
from storage.job_store.store import JobStore
from storage.jobs.work_items import WorkerIdentity
from storage.jobs.work_queues import Lane
from storage.objects.store import ArtifactStore
from storage.queue.celery_queue import TicketQueue
from storage.queue.model_registry import ModelRegistry
from storage.queue.overview import QueueOverviews
from storage.queue.swaps import Swaps
from storage.queue.worker_registry import REPORT_INTERVAL_S, WorkerRegistry, WorkerRole
from storage.queue.worker_slots import ANNOUNCE_INTERVAL_S, WorkerSlots
from storage.recovery.state_guard import StateGuard
from storage.runtime.config.certificates import check_certificates
from storage.runtime.config.failpoints import configure as configure_failpoints
from storage.runtime.config.file_limit import allow_files
from storage.runtime.config.settings import SettingsError, describe, refusal
from storage.runtime.observability.logs import configure_process_logging
from storage.runtime.observability.metrics import export
from storage.runtime.observability.tracing import configure_tracing, end_tracing
from storage.tenants.quotas import admission_limits
from storage.voices.store import VoiceStore
from worker.engine.errors import EngineError
from worker.engine.heap import freeze
from worker.engine.interface import EngineInfo
from worker.engine.process.engine_process import EngineProcess, ProcessTimes
from worker.items.gpu_ticket import GpuTickets
from worker.items.leases.claim_ahead import ClaimAhead
from worker.items.leases.keeper import DropReason, LeaseKeeper
from worker.items.leases.quarantine import QuarantineGate
from worker.lifecycle.checkpoint_swaps import LOOK_INTERVAL_S, CheckpointSwaps
from worker.lifecycle.load import WorkerLoad
from worker.lifecycle.model_card import model_card
from worker.process.consumption import CHECK_INTERVAL_S, ConsumptionWatch
from worker.process.engine_meter import EngineMeter
from worker.process.metrics_server import MetricsServer, parse_ports, serve_metrics
from worker.process.periodic import Periodic
from worker.process.reporting import ProcessLoad, Reporting
from worker.process.restart import ask_for_restart
from worker.process.signals import TicketConsumption
from worker.process.state_watch import hold_what_lost_something
from worker.process.successor import SUCCESSION
from worker.services import SpeechServices, WorkerServices
from worker.settings import WorkerSettings
from worker.speech.postprocessing.child import PostProcessorUnusable
from worker.speech.postprocessing.in_process import InProcessPostProcessor
from worker.speech.postprocessing.interface import PostProcessor
from worker.speech.postprocessing.packing import PLACES_SHARE, SegmentPacker
from worker.speech.postprocessing.pool import PostProcessorPool
from worker.speech.quality.calibration.calibration_file import UNCALIBRATED, CalibrationUnreadable
from worker.speech.quality.counters import GateCounters
from worker.speech.quality.gate import QualityGate, checkpoint_calibration
from worker.speech.quality.norms_cache import NormsCache
from worker.speech.quality.recognisers.installed import RecogniserUnusable, worker_recognisers
from worker.voices.cache import PromptCache
from worker.voices.resolving import VoiceResolver

if TYPE_CHECKING:
    from worker.live.server import LiveServer

logger = logging.getLogger(__name__)

SHUTDOWN_GRACE_S = 20.0
"""How long running items may go on after SIGTERM. A segment takes seconds; supervisors wait at least 25 s."""

FILES_OF_A_PLACE = 8
"""What a thread may hold open: a line to a post-processor, a connection to Redis, an object with the folders above it.
"""

OTHER_FILES = 256

LIVE_FILES = 1_024
"""Connections of API processes, and as many as strangers may open for some seconds."""

LIVE_GRACE_S = 15.0
"""How long live streams may go on after SIGTERM; then their API processes have them go on with other workers."""

CARD_INTERVAL_S = 30.0

START_ERRORS = (
    SettingsError,
    StorageError,
    EngineError,
    PostProcessorUnusable,
    CalibrationUnreadable,
    RecogniserUnusable,
)
"""Errors that are reported in one line, without a traceback."""


class WorkerProcess:
    """The services of this process between `worker_init` and `worker_shutdown`; the composition root."""

    def __init__(self, settings: WorkerSettings, tickets: TicketQueue) -> None:
        self._settings = settings
        self._closing = threading.Event()
        self._redis = connect_redis(settings)
        self._tickets = tickets
        self._jobs = JobStore(
            self._redis, settings.key_prefix, admission_limits(settings), max_attempts=settings.max_attempts
        )
        self._leases = LeaseKeeper(self._jobs, settings.lease_s)
        self._watch = ConsumptionWatch(settings.queue, tickets, self._is_busy, ask_for_restart)
        self._worker_slots = WorkerSlots(self._redis, settings.key_prefix)
        self._periodic = [Periodic("consumption-watch", CHECK_INTERVAL_S, self._watch.check)]
        self._services: WorkerServices | SpeechServices | None = None
        self._answer: Callable[[], None] | None = None
        self._gpu_tickets: GpuTickets | None = None
        self._meter: EngineMeter | None = None
        self._consumption: TicketConsumption | None = None
        self._places = 0
        self._metrics: MetricsServer | None = None
        self._postprocessors: PostProcessorPool | None = None
        self._live: LiveServer | None = None
        self._closing_since_s: float | None = None
        boot_id = uuid.uuid4().hex
        self._identity = WorkerIdentity(settings.name_for(boot_id), boot_id)
        role = WorkerRole(settings.lane.value)
        model = settings.model_name if settings.lane is Lane.GPU else None
        worker_registry = WorkerRegistry(self._redis, settings.key_prefix)
        others = tuple(settings.other_checkpoints) if settings.lane is Lane.GPU else ()
        self._reporting = Reporting(worker_registry, self._identity.name, role, settings.queue, model, others)
        self._reporting.on_change = self._follow_wish
        self._swaps: CheckpointSwaps | None = None
        if others:
            self._swaps = CheckpointSwaps(
                settings,
                self._identity.name,
                Swaps(self._redis, settings.key_prefix),
                QueueOverviews(self._redis, settings.key_prefix),
                ModelRegistry(self._redis, settings.key_prefix),
                leave=self._leave_for,
                is_at_work=lambda: self._leases.num_held > 0,
            )

    def start(self) -> None:
        """Everything up to readiness. Raises `SystemExit` with one line if this worker cannot run."""
        configure_process_logging(self._settings, role=self._settings.lane.value, worker=self._identity.name)
        logger.info("settings", extra={"values": " ".join(describe(self._settings))})
        allow_files(FILES_OF_A_PLACE * self._settings.num_places + OTHER_FILES + LIVE_FILES)
        try:
            configure_failpoints(self._settings.failpoint)
            check_certificates(self._settings)
            agree_on_layout(self._redis, self._settings.key_prefix)
            configure_tracing(self._settings, self._settings.lane.value)
            # A port in use is reported before the model loads, which takes minutes.
            self._metrics = serve_metrics(self._settings.metrics_host, parse_ports(self._settings.metrics_port))
            self._come_for_model()
            self._services = self._build()
            hold_what_lost_something(StateGuard(self._redis, self._services.artifacts, self._settings.key_prefix))
            if isinstance(self._services, SpeechServices) and self._meter is not None:
                self._live = self._started_live(self._services, self._meter)
            freeze()
            load = WorkerLoad(self._services, self._meter, self._live)
            export(load.measure)
            self._tickets.send(self._jobs.release_worker(self._services.identity))
            self._reporting.begin(load.now)
            self._join_worker_slots(self._services)
            self._periodic.append(Periodic("fleet", ANNOUNCE_INTERVAL_S, self._announce))
            self._serve_model()
        except START_ERRORS as error:
            self._give_model_up()
            self.stop()
            raise refusal(f"the {self._settings.lane} worker cannot start", error) from error
        self._leases.start()
        for each in self._periodic:
            each.start()
        logger.info("worker ready", extra={"lane": self._settings.lane, "worker": self._services.identity.name})

    def run_ticket(self) -> None:
        """One ticket of this process's queue."""
        self._watch.seen()
        if self._answer is None:
            raise RuntimeError("a ticket arrived before the worker had started")
        self._answer()

    def consumes(self, consumption: TicketConsumption) -> None:
        """From Celery's thread, once the first tickets may come."""
        self._consumption = consumption
        if self._reporting.draining.is_set():
            consumption.pause(self._settings.queue)
        if self._settings.lane is Lane.CPU:
            self._places = consumption.places
            self._announce()

    def begin_shutdown(self) -> None:
        """Claim nothing more; see that nothing runs beyond the grace period. Returns at once."""
        SUCCESSION.forbid()
        self._begin_leaving()

    def _begin_leaving(self) -> None:
        if self._closing.is_set():
            return
        self._closing.set()
        self._closing_since_s = time.monotonic()
        self._refuse_live()
        threading.Thread(target=self._drain, name="drain", daemon=True).start()

    def stop(self) -> None:
        """After the last ticket; returns behind the last item."""
        self._closing.set()
        if self._gpu_tickets is not None:
            self._gpu_tickets.close()
        self._leases.close()
        if self._live is not None:
            self._live.close(self._live_grace_left_s())
        self._reporting.close()
        if self._metrics is not None:
            self._metrics.close()
        for each in self._periodic:
            each.close()
        if isinstance(self._services, SpeechServices):
            self._services.engine.close()
        if self._postprocessors is not None:
            self._postprocessors.close()
        end_tracing()
        self._tickets.close()
        self._redis.close()

    def _build(self) -> WorkerServices | SpeechServices:
        artifacts = open_artifacts(self._settings)
        artifacts.check()
        common = WorkerServices(
            identity=self._identity,
            queue=self._settings.queue,
            jobs=self._jobs,
            artifacts=artifacts,
            tickets=self._tickets,
            leases=self._leases,
            plans=PlanCache(artifacts),
            voice_store=VoiceStore(self._redis, self._settings.key_prefix),
            voice_plans=VoicePlanCache(artifacts),
            lease_s=self._settings.lease_s,
            closing=self._closing,
            gate=QuarantineGate(),
            draining=self._reporting.draining,
        )
        match self._settings.lane:
            case Lane.CPU:
                # Here and not above: the other lane needs nothing of what this loads.
                from worker.items.cpu_ticket import run_cpu_ticket

                self._answer = partial(run_cpu_ticket, common)
                return common
            case Lane.GPU:
                services = self._with_engine(common)
                self._gpu_tickets = GpuTickets(services, self._settings.num_places)
                self._answer = self._gpu_tickets.answer
                return services
            case _:
                assert_never(self._settings.lane)

    def _with_engine(self, common: WorkerServices) -> SpeechServices:
        postprocessor = self._postprocessor(common.artifacts)
        times = ProcessTimes(watchdog_s=self._settings.engine_watchdog_s)
        engine = EngineProcess(self._settings.engine_settings(), times)
        engine.start()
        self._meter = EngineMeter(engine.stats, engine.info, lambda: engine.deaths)
        self._periodic.append(Periodic("engine-meter", REPORT_INTERVAL_S, self._meter.look))
        model = self._settings.model_name
        registry = ModelRegistry(self._redis, self._settings.key_prefix)
        quality = self._quality_gate(engine.info, postprocessor)
        card = model_card(model, engine.info, quality.recognised_languages)
        card = replace(card, notice=card.notice or self._settings.notice)
        if card.notice:
            logger.warning(card.notice)
        embeddings = engine.info.speaker_embeddings
        registry.publish(card, embeddings)
        self._periodic.append(Periodic("model-card", CARD_INTERVAL_S, lambda: registry.publish(card, embeddings)))
        return SpeechServices(
            **{each.name: getattr(common, each.name) for each in fields(common)},
            engine=engine,
            ahead=ClaimAhead(engine.info.slots),
            voices=VoiceResolver(common.voice_store, common.artifacts, engine, PromptCache()),
            quality=quality,
            counters=GateCounters(),
            norms=NormsCache(ResultSamples(self._redis, self._settings.key_prefix), engine.info.sample_rate_hz),
            reuse=ReuseIndex(self._redis, self._settings.key_prefix),
            postprocessor=postprocessor,
            packer=SegmentPacker(engine.info.slots // PLACES_SHARE, self._settings.pack_wait_s),
        )

    def _come_for_model(self) -> None:
        """With several models: report which one loads, and publish the cards of the others."""
        swaps = self._swaps
        if swaps is None:
            return
        is_arriving = swaps.resume()
        if is_arriving:
            self._reporting.begin(lambda: ProcessLoad(is_loading=True))
        others = swaps.other_models(is_known=is_arriving)
        swaps.publish(others)
        self._periodic.append(Periodic("other-model-cards", CARD_INTERVAL_S, lambda: swaps.publish(others)))

    def _serve_model(self) -> None:
        if self._swaps is not None:
            self._swaps.arrived(self._places)
            self._periodic.append(Periodic("swaps", LOOK_INTERVAL_S, self._look_for_model))

    def _give_model_up(self) -> None:
        if self._swaps is not None:
            try:
                self._swaps.failed()
            except StoreUnavailable as error:
                logger.warning("others may try to load this model as well", extra={"error": str(error)})

    def _look_for_model(self) -> None:
        is_wanted_here = self._closing.is_set() or self._reporting.draining.is_set()
        if self._swaps is not None and self._consumption is not None and not is_wanted_here:
            self._swaps.look()

    def _leave_for(self, checkpoint: Path) -> bool:
        """End, and go on as a worker of this checkpoint; False while a live stream is open."""
        if self._consumption is None or (self._live is not None and not self._live.refuse_if_idle()):
            return False
        SUCCESSION.plan({"RHAPSODE_CHECKPOINT": str(checkpoint), "RHAPSODE_WORKER_NAME": self._identity.name})
        self._begin_leaving()
        self._consumption.end()
        self._announce()
        return True

    def _started_live(self, services: SpeechServices, meter: EngineMeter) -> LiveServer:
        # Here and not above: the other lane needs nothing of what this loads.
        from worker.lifecycle.live_speech import live_server

        server = live_server(self._settings, services, meter)
        server.start()
        return server

    def _postprocessor(self, artifacts: ArtifactStore) -> PostProcessor:
        """Processes beside this one where the engine has enough slots to keep them busy."""
        settings = self._settings
        if not settings.num_postprocessors:
            return InProcessPostProcessor(artifacts)
        store = "folder" if settings.store.startswith("file:") else "s3"
        self._postprocessors = PostProcessorPool(
            settings.num_postprocessors, settings.num_places, store, self._identity.name
        )
        self._postprocessors.start()
        return self._postprocessors

    def _quality_gate(self, info: EngineInfo, postprocessor: PostProcessor) -> QualityGate:
        """With the calibration of these weights and the installed recognisers."""
        settings = self._settings
        calibration = None
        if settings.engine != "fake":
            calibration = checkpoint_calibration(settings.checkpoint, info.revision)
            if calibration is None:
                logger.warning("the checkpoint is not calibrated: the quality gate has only the bounds of all speech")
        recognisers = worker_recognisers(
            settings.recogniser,
            settings.whisper_model,
            settings.device,
            info.languages,
            settings.recogniser_threads,
        )
        return QualityGate(calibration or UNCALIBRATED, recognisers, postprocessor.judge)

    def _join_worker_slots(self, services: WorkerServices) -> None:
        """A GPU worker announces its slots at start; a CPU worker when it takes tickets."""
        if isinstance(services, SpeechServices):
            self._places = services.engine.info.slots
            self._announce()
            self._tickets.send(self._jobs.look_away(services.queue, services.identity))

    def _refuse_live(self) -> None:
        if self._live is not None:
            self._live.refuse_new(is_leaving=self._closing.is_set() or self._reporting.draining.is_set())

    def _live_grace_left_s(self) -> float:
        """0 for a process that could not start: it has no streams."""
        if self._closing_since_s is None:
            return 0.0
        return max(0.0, self._closing_since_s + LIVE_GRACE_S - time.monotonic())

    def _announce(self) -> None:
        if not self._places:
            return
        queue, worker = self._settings.queue, self._identity.name
        if self._closing.is_set() or self._reporting.draining.is_set():
            self._worker_slots.leave(queue, worker)
        else:
            self._worker_slots.announce(queue, worker, self._places)

    def _is_busy(self) -> bool:
        return self._leases.num_held > 0 or self._closing.is_set() or self._reporting.draining.is_set()

    def _follow_wish(self) -> None:
        """An operator stopped or allowed claims."""
        if self._consumption is not None:
            if self._reporting.draining.is_set():
                self._consumption.pause(self._settings.queue)
            else:
                self._consumption.resume(self._settings.queue)
        self._refuse_live()
        self._announce()

    def _drain(self) -> None:
        """Not cut short when nothing runs: a ticket may be between its look at `closing` and its claim. This thread
        is a daemon, so the process ends as soon as its tasks have."""
        time.sleep(SHUTDOWN_GRACE_S)
        if self._leases.num_held:
            logger.warning("handing back what still runs", extra={"held": self._leases.num_held})
            self._leases.drop_all(DropReason.SHUTDOWN)
            if self._postprocessors is not None:
                # One may hang, and its calls would wait for it longer than any supervisor does for us.
                self._postprocessors.close()
