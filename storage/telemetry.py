"""Logs as events with fields, for every process alike: a constant message, then what it is about.

Code logs through the standard library (`extra=` becomes fields) or structlog; what is bound with `item_fields`
is in every line until the block ends. Texts, secrets and links are never logged.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal

import structlog
from structlog.types import Processor

LogFormat = Literal["console", "json"]

_QUIET = (
    # One line a request or ticket is a metric, not an event; access lines would also show signed links.
    "uvicorn.access",
    "celery.worker.strategy",
    "celery.app.trace",
    "httpx",
    "botocore",
    "urllib3",
)

_SELF_CONFIGURED = ("uvicorn", "uvicorn.error", "uvicorn.access")
"""Loggers whose library gave them handlers of their own before us."""


def configure_logging(log_format: LogFormat) -> None:
    """Send the whole process's logs to standard error, one event a line. Call once, at start."""
    shared: list[Processor] = [
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
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_rendering(log_format)],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    for name in _SELF_CONFIGURED:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)


@contextmanager
def item_fields(job_id: str, item: str, attempt: int) -> Generator[None]:
    """Put these fields into every log line of this thread or task until the block ends."""
    with structlog.contextvars.bound_contextvars(job_id=job_id, item=item, attempt=attempt):
        yield


@contextmanager
def delivery_fields(delivery: str, event: str, attempt: int) -> Generator[None]:
    """As `item_fields`, for one attempt at a webhook."""
    with structlog.contextvars.bound_contextvars(delivery=delivery, webhook_event=event, attempt=attempt):
        yield


def _rendering(log_format: LogFormat) -> list[Processor]:
    if log_format == "json":
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)]
    plain = structlog.dev.plain_traceback
    return [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)]
