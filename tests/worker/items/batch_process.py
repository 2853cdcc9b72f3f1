"""A CPU worker without Celery: does what is ready and ends, unless a failpoint ends it before."""

from __future__ import annotations

from storage.database.connections import connect_redis
from storage.job_store.store import JobStore
from storage.jobs.work_queues import CPU_QUEUE
from storage.queue.celery_queue import TicketQueue, create_celery
from storage.runtime.config.settings import load_settings
from worker.lifecycle.start import WorkerProcess
from worker.settings import CpuWorkerSettings


def main() -> None:
    settings = load_settings(CpuWorkerSettings)
    worker = WorkerProcess(settings, TicketQueue(create_celery(settings, "tests")))
    worker.start()
    with connect_redis(settings) as redis_client:
        jobs = JobStore(redis_client, settings.key_prefix)
        while jobs.ready_counts()[CPU_QUEUE]:
            worker.run_ticket()
    worker.stop()


if __name__ == "__main__":
    main()
