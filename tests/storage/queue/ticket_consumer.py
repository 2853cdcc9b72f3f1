"""A Celery worker of its own process, as ours are, that takes tickets and writes down when: `SETTINGS FILE HOLD_S`.

Each ticket stays in its hands for a while, so that some are there whenever the broker goes.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from storage.jobs.work_queues import CPU_QUEUE
from storage.queue.celery_queue import TICKET_TASK, create_celery
from storage.runtime.config.settings import StorageSettings

HANDS = 2


def main(redis_url: str, taken: str, hold_s: str) -> None:
    settings = StorageSettings.model_validate({"redis_url": redis_url, "store": "s3://nowhere"})
    app = create_celery(settings, "consumer", (CPU_QUEUE,))

    @app.task(name=TICKET_TASK)
    def take() -> None:
        time.sleep(float(hold_s))
        with Path(taken).open("a") as lines:
            lines.write(f"{time.monotonic()}\n")

    app.worker_main(
        ["worker", "--pool", "threads", "--concurrency", str(HANDS), "--without-gossip", "--without-mingle"]
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
