"""What Celery says past all logs is in them."""

from __future__ import annotations

import logging
import sys
import threading

import pytest
from celery.apps import worker as celery_worker

from worker.process.signals import log_celery_words


def test_what_celery_says_in_a_signal_handler_is_a_line_of_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(celery_worker, "safe_say", celery_worker.safe_say)
    log_celery_words()

    with caplog.at_level(logging.INFO):
        celery_worker.safe_say("worker: Warm shutdown (MainProcess)", sys.__stdout__)
        for thread in threading.enumerate():
            if thread.name == "celery-words":
                thread.join()

    (record,) = (each for each in caplog.records if each.getMessage() == "celery says")
    assert record.__dict__["words"] == "worker: Warm shutdown (MainProcess)"
    assert capfd.readouterr().out == ""
