"""The application; `python -m api.server` serves it."""

from __future__ import annotations

import gc
import logging
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from operator import attrgetter
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from api.access.rate_limits import RateLimitFields
from api.batches import routes as batches
from api.frequent_requests import FrequentRequests
from api.http.middleware.body_limit import BodyLimit
from api.http.middleware.connections import BEFORE_STOP, STOP_WAITING
from api.http.middleware.cors import admit_origins, parse_origins
from api.http.middleware.head_requests import HeadRequests
from api.http.middleware.held_requests import HeldRequests, LateAnswers
from api.http.middleware.request_boundary import RequestBoundary
from api.http.middleware.request_metrics import RequestMeter, process_started
from api.http.middleware.request_traces import RequestTraces
from api.http.middleware.security_headers import SecurityHeaders
from api.http.problems import pages as error_pages
from api.http.problems.handlers import add_error_handlers
from api.jobs.control import artifact_routes as artifacts
from api.jobs.control import control_routes as job_control
from api.jobs.control import event_routes as events
from api.jobs.control import named_routes as named_jobs
from api.jobs.control import preview_routes as previews
from api.jobs.control import routes as jobs
from api.jobs.segments import audio_routes as job_audio
from api.jobs.segments import routes as segments
from api.jobs.segments import waveform_routes as waveform
from api.openai import batch_routes as speech_batches
from api.openai import routes as speech
from api.openai import voice_routes as audio_voices
from api.openai.socket import routes as speech_socket
from api.openapi.description import complete_openapi
from api.openapi.description import router as openapi_router
from api.operators import fleet_routes as admin_fleet
from api.operators import key_routes as admin_keys
from api.operators import metrics_routes as metrics_route
from api.operators import repair_routes as admin_repair
from api.operators import usage_routes as usage
from api.pronunciations import routes as pronunciation_dictionaries
from api.services.container import open_services
from api.settings import LIMITS, ApiLimits, ApiSettings
from api.system import capabilities, health, models, objects, page, reference
from api.uploads import routes as uploads
from api.voices import routes as voices
from api.voices.caches import routes as voice_caches
from api.webhooks import delivery_routes as webhook_deliveries
from api.webhooks import endpoint_routes as webhook_endpoints
from storage.database.connections import open_artifacts
from storage.runtime.config.certificates import check_certificates
from storage.runtime.config.failpoints import configure as configure_failpoints
from storage.runtime.config.settings import describe, load_settings
from storage.runtime.observability.logs import configure_process_logging
from storage.runtime.observability.tracing import configure_tracing, end_tracing

logger = logging.getLogger(__name__)

CONTRACT_VERSION = "1"
"""Of the paths below /v1, not of the package."""


def app_from_environment() -> FastAPI:
    """Raises `SettingsError` when the environment is not one to start in."""
    settings = load_settings(ApiSettings)
    configure_process_logging(settings, role="api")
    configure_tracing(settings, "api")
    configure_failpoints(settings.failpoint)
    check_certificates(settings)
    if settings.store.startswith("file:"):
        # In one line here; uvicorn would write a traceback later.
        open_artifacts(settings)
    logger.info("settings", extra={"settings": list(describe(settings))})
    app = create_app(settings)
    # Modules, models and routes stay as long as the process: the collector need not walk over them at every submit.
    gc.collect()
    gc.freeze()
    return app


def create_app(settings: ApiSettings, limits: ApiLimits = LIMITS) -> FastAPI:
    """The API over the stores that `settings` name. Connects when it is started, not before."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[dict[str, object]]:
        async with open_services(settings, limits) as services:
            app.state.services = services
            process_started(socket.gethostname())
            yield {STOP_WAITING: services.jobs.events.stop, BEFORE_STOP: services.drain}
        end_tracing()

    # The framework's own pages load their scripts from another host, which this API never asks a browser to do; ours
    # are in `api.system.reference`.
    app = Application(
        title="Rhapsode",
        version=CONTRACT_VERSION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        # The framework's own; ours are `RequestTraces` and `RequestMeter`.
        telemetry={"tracing": False, "metrics": False, "logs": False},
        # The function's name: short, and the same whatever its path becomes.
        generate_unique_id_function=attrgetter("name"),
    )
    # Each is asked in turn whether an address is its own: those of every job come first.
    modules = (
        *(jobs, artifacts),
        *((objects,) if settings.store.startswith("file:") else ()),
        *(named_jobs, batches, job_control, job_audio, segments, waveform, events, uploads, usage),
        *(voices, previews, voice_caches, audio_voices, models),
        *(speech, speech_batches, speech_socket),
        *(admin_keys, admin_fleet, admin_repair, metrics_route, health),
        *(pronunciation_dictionaries, capabilities, page, reference, error_pages),
        *(webhook_endpoints, webhook_deliveries),
    )
    routers = [module.router for module in modules]
    for router in routers:
        app.include_router(router)
    # The framework's own list has routers in it, which do not tell what they take for an id.
    app.state.addresses = [route for router in routers for route in router.routes]
    add_error_handlers(app)
    app.include_router(openapi_router)
    complete_openapi(app)
    # The last one added is the outermost.
    app.add_middleware(FrequentRequests, known=app.state.addresses)
    app.add_middleware(HeadRequests, known=app.state.addresses)
    app.add_middleware(LateAnswers)
    app.add_middleware(BodyLimit, max_bytes=limits.body_bytes, max_upload_bytes=settings.max_upload_bytes)
    app.add_middleware(RateLimitFields)
    app.add_middleware(RequestBoundary, public_path=urlsplit(settings.public_url or "").path)
    admit_origins(app, parse_origins(settings.cors_origins))
    app.add_middleware(SecurityHeaders)
    app.add_middleware(RequestMeter)
    return app


class Application(FastAPI):
    """FastAPI within what sees a request from its beginning to its end, also while it waits outside of the others."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - the framework's own
        super().__init__(**options)
        self._whole = RequestTraces(HeldRequests(super().__call__))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._whole(scope, receive, send)
