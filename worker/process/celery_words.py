"""What Celery writes past all logs, from its signal handlers, as lines of the log like any other."""

from __future__ import annotations

import logging
import threading

from celery.apps import worker as celery_worker

logger = logging.getLogger(__name__)


def log_celery_words() -> None:
    """Call once, before Celery sets up its signals."""
    celery_worker.safe_say = _said


def _said(message: object, _file: object = None) -> None:
    """In a signal handler, where a thread that was interrupted may hold the lock of the log: another one writes."""
    threading.Thread(target=_log, args=(str(message).strip(),), name="celery-words").start()


def _log(words: str) -> None:
    logger.info("celery says", extra={"words": words})
