"""The application; `python -m api.server` serves it."""

from __future__ import annotations

import gc
import logging
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from api import (
    admin_fleet,
    admin_keys,
    admin_reconcile,
    admin_repair,
    artifacts,
    audio_voices,
    batches,
    capabilities,
    consents,
    events,
    health,
    job_audio,
    job_control,
    jobs,
    metrics_route,
    models,
    named_jobs,
    objects,
    page,
    pronunciation_dictionaries,
    quotas,
    segments,
    speech,
    uploads,
    usage,
    voice_caches,
    voices,
    webhook_deliveries,
    webhook_endpoints,
    webhook_secret,
)
from api.body_limit import BodyLimit
from api.boundary import RequestBoundary
from api.cors import admit_origins, parse_origins
from api.errors import add_error_handlers
from api.metrics import RequestMeter, process_started
from api.openapi import complete_openapi
from api.openapi import router as openapi_router
from api.rate_limits import RateLimitFields
from api.request_traces import RequestTraces
from api.security_headers import SecurityHeaders
from api.server_protocol import STOP_WAITING
from api.services import open_services
from api.settings import ApiSettings
from storage.certificates import check_certificates
from storage.failpoints import configure as configure_failpoints
from storage.settings import describe, load_settings
from storage.telemetry import configure_process_logging
from storage.tracing import configure_tracing, end_tracing

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
    logger.info("settings", extra={"settings": list(describe(settings))})
    app = create_app(settings)
    # Modules, models and routes stay as long as the process: the collector need not walk over them at every submit.
    gc.collect()
    gc.freeze()
    return app


def create_app(settings: ApiSettings) -> FastAPI:
    """The API over the stores that `settings` name. Connects when it is started, not before."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[dict[str, object]]:
        async with open_services(settings) as services:
            app.state.services = services
            process_started(socket.gethostname())
            yield {STOP_WAITING: services.events.stop}
        end_tracing()

    # The interactive pages load their scripts from another host, which this API never asks a browser to do; the
    # description they would show is at /openapi.json.
    app = FastAPI(
        title="Rhapsode",
        version=CONTRACT_VERSION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        # The function's name: short, and the same whatever its path becomes.
        generate_unique_id_function=lambda route: route.name,
    )
    modules = (
        *(jobs, named_jobs, batches, job_control, job_audio, segments, events, artifacts, uploads, usage, quotas),
        *(voices, voice_caches, consents, audio_voices, speech, models),
        *(admin_keys, admin_fleet, admin_repair, admin_reconcile, metrics_route, health),
        *(pronunciation_dictionaries, capabilities, page),
        *(webhook_endpoints, webhook_deliveries, webhook_secret),
    )
    routers = [module.router for module in modules]
    if settings.store.startswith("file:"):
        routers.append(objects.router)
    for router in routers:
        app.include_router(router)
    # The framework's own list has routers in it, which do not tell what they take for an id.
    app.state.addresses = [route for router in routers for route in router.routes]
    add_error_handlers(app)
    app.include_router(openapi_router)
    complete_openapi(app)
    # The last one added is the outermost.
    app.add_middleware(BodyLimit, max_bytes=settings.max_body_bytes, max_upload_bytes=settings.max_upload_bytes)
    app.add_middleware(RateLimitFields)
    app.add_middleware(RequestBoundary)
    admit_origins(app, parse_origins(settings.cors_origins))
    app.add_middleware(SecurityHeaders)
    app.add_middleware(RequestMeter)
    app.add_middleware(RequestTraces)
    return app
