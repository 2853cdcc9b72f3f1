from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import logging, sys, warnings
import structlog
from storage.runtime.observability.logs import configure_logging, item_fields
uvicorn = logging.getLogger("uvicorn.access")
uvicorn.addHandler(logging.StreamHandler())
uvicorn.propagate = False
configure_logging(sys.argv[1], process={"role": "gpu", "worker": "gpu-0"})
log = logging.getLogger("worker.synthesis.item")
with item_fields("job_01k", "7", 2, "alice"):
    log.info("segment done", extra={"audio_s": 1.5})
    structlog.get_logger("worker.other").warning("slow", wall_s=3)
log.debug("not shown")
uvicorn.info('GET /v1/objects/x?signature=secret')
try:
    1 / 0
except ZeroDivisionError:
    log.exception("broken")
log.info("Grüße %s", "world")
"""


def lines(log_format: str) -> list[str]:
    outcome = subprocess.run(
        [sys.executable, "-c", PROGRAM, log_format], capture_output=True, text=True, check=True, timeout=60
    )
    assert outcome.stdout == ""
    return outcome.stderr.splitlines()


def test_json_lines_carry_message_level_logger_and_fields() -> None:
    events = [json.loads(line) for line in lines("json")]

    done, slow, broken, greeting = events
    assert done.pop("timestamp").endswith("Z")
    assert done == {
        "event": "segment done",
        "level": "info",
        "logger": "worker.synthesis.item",
        "audio_s": 1.5,
        "job_id": "job_01k",
        "item": "7",
        "attempt": 2,
        "tenant": "alice",
        "role": "gpu",
        "worker": "gpu-0",
    }
    assert (slow["event"], slow["wall_s"], slow["job_id"]) == ("slow", 3, "job_01k")
    assert "ZeroDivisionError" in broken["exception"]
    assert "job_id" not in broken
    assert greeting["event"] == "Grüße world"


def test_what_is_no_terminal_gets_json_by_default() -> None:
    assert next(json.loads(line)["event"] for line in lines("auto")) == "segment done"


def test_console_lines_are_for_reading() -> None:
    text = "\n".join(lines("console"))

    assert "segment done" in text
    assert "job_id=job_01k" in text
    assert "ZeroDivisionError" in text
    assert "\x1b[" not in text


def test_signed_links_of_the_access_log_are_not_shown() -> None:
    assert "signature" not in "\n".join(lines("json") + lines("console"))
