"""What Celery says past all logs is in them, and what it would go on without ends the process."""

from __future__ import annotations

import logging
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery
from celery.apps import worker as celery_worker
from celery.utils.dispatch import Signal

from tests.threads import join_in_time
from worker.process import signals
from worker.process.signals import connect, log_celery_words


def test_what_celery_says_in_a_signal_handler_is_a_line_of_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(celery_worker, "safe_say", celery_worker.safe_say)
    log_celery_words()

    with caplog.at_level(logging.INFO):
        celery_worker.safe_say("worker: Warm shutdown (MainProcess)", sys.__stdout__)
        for thread in threading.enumerate():
            if thread.name == "celery-words":
                join_in_time(thread)

    (record,) = (each for each in caplog.records if each.getMessage() == "celery says")
    assert record.__dict__["words"] == "worker: Warm shutdown (MainProcess)"
    assert capfd.readouterr().out == ""


def test_a_worker_that_cannot_start_for_whatever_reason_takes_no_tickets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Celery logs what its signal handlers raise and goes on."""

    class Broken:
        def run_ticket(self) -> None: ...

        def start(self) -> None:
            raise ModuleNotFoundError("No module named 'pypdfium2_raw'")

    names = ("setup_logging", "worker_init", "worker_ready", "worker_shutting_down", "worker_shutdown")
    made = SimpleNamespace(**{name: Signal(name=name, providing_args=set[str]()) for name in names})
    monkeypatch.setattr(signals, "signals", made)
    monkeypatch.setattr(celery_worker, "safe_say", celery_worker.safe_say)
    process: Any = Broken()
    connect(Celery(), process)

    with pytest.raises(SystemExit, match="cannot start: ModuleNotFoundError"):
        made.worker_init.send(sender=None)
