"""Logs as events with fields, for every process alike: a constant message, then what it is about.

Code logs through the standard library (`extra=` becomes fields) or structlog; what is bound with `item_fields`
is in every line until the block ends. Texts, secrets and links are never logged;
`storage.runtime.observability.redaction` is the last to look.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Literal

import structlog
from structlog.types import EventDict, Processor

from storage.runtime.config.settings import StorageSettings
from storage.runtime.observability.redaction import Redaction, secrets_of

LogFormat = Literal["auto", "console", "json"]
"""auto: for reading on a terminal, JSON everywhere else."""

OUR_PACKAGES = ("api", "worker", "storage", "rhapsode")
"""Whom the level is for. Libraries say no more than their `info`: at `debug` they show bodies and signed headers."""

_QUIET = (
    # One line a request or ticket is a metric, not an event; access lines would also show signed links.
    "uvicorn.access",
    "celery.worker.strategy",
    "celery.app.trace",
    *("httpx", "httpx2"),
    "botocore",
    "urllib3",
)

_SELF_CONFIGURED = ("uvicorn", "uvicorn.error", "uvicorn.access")
"""Loggers whose library set its own handlers before us."""


def configure_process_logging(settings: StorageSettings, **process: str) -> None:
    """As these settings say, and without any of their secrets. Call once, at start.

    process: what every line says of this process: its role, and its name if it has one.
    """
    configure_logging(settings.log_format, settings.log_level, secrets_of(settings), process)


def configure_logging(
    log_format: LogFormat, level: str = "info", secrets: Iterable[str] = (), process: Mapping[str, str] | None = None
) -> None:
    """Send the whole process's logs to standard error, one event a line.

    level: of our own lines. secrets: are hidden wherever they turn up. process: fields of every line.
    """
    shared: list[Processor] = [
        _fields_of(process or {}),
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder()],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            *_rendering(log_format, Redaction(secrets)),
        ],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    chosen = logging.getLevelNamesMapping()[level.upper()]
    root.setLevel(max(chosen, logging.INFO))
    for name in OUR_PACKAGES:
        logging.getLogger(name).setLevel(chosen)
    for name in _SELF_CONFIGURED:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)


def item_fields(job_id: str, item: str, attempt: int, tenant: str) -> AbstractContextManager[None]:
    """Put these fields into every log line of this thread or task until the block ends."""
    return structlog.contextvars.bound_contextvars(job_id=job_id, item=item, attempt=attempt, tenant=tenant)


def request_fields(request_id: str) -> AbstractContextManager[None]:
    """As `item_fields`, for one request to the API, also in the threads that work for it."""
    return structlog.contextvars.bound_contextvars(request_id=request_id)


def own_request(request_id: str) -> None:
    """As `request_fields`, for the rest of a task that has no other subject."""
    structlog.contextvars.bind_contextvars(request_id=request_id)


def delivery_fields(delivery: str, event: str, attempt: int) -> AbstractContextManager[None]:
    """As `item_fields`, for one attempt at a webhook."""
    return structlog.contextvars.bound_contextvars(delivery=delivery, webhook_event=event, attempt=attempt)


def _fields_of(process: Mapping[str, str]) -> Processor:
    def add(_logger: object, _method: str, event: EventDict) -> EventDict:
        for name, value in process.items():
            event.setdefault(name, value)
        return event

    return add


def _rendering(log_format: LogFormat, redaction: Redaction) -> list[Processor]:
    readable: list[Processor] = [structlog.processors.format_exc_info, redaction]
    if log_format == "json" or (log_format == "auto" and not sys.stderr.isatty()):
        return [*readable, structlog.processors.JSONRenderer(ensure_ascii=False)]
    plain = structlog.dev.plain_traceback
    return [*readable, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)]
