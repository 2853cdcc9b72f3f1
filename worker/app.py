"""A worker as Celery starts it, by `worker.cpu_app` or `worker.gpu_app`.

Its queue follows from its lane and its model, so Celery gets none.
"""

from __future__ import annotations

from celery import Celery

from storage.jobs.work_queues import Lane
from storage.queue.celery_queue import TicketQueue, create_celery
from storage.runtime.config.settings import load_settings, settings_refused_by
from worker.lifecycle.start import WorkerProcess
from worker.process.signals import connect
from worker.settings import WorkerSettings


def worker_app(settings_class: type[WorkerSettings]) -> Celery:
    """Reads the settings. Ends the process with one line if they are wrong."""
    with settings_refused_by("worker"):
        settings = load_settings(settings_class)
        app = create_celery(settings, "rhapsode-worker", consumed=(settings.queue,))
        if settings.lane is Lane.GPU:
            app.conf.worker_concurrency = settings.num_fronts
        process = WorkerProcess(settings, TicketQueue(app))
    connect(app, process)
    return app
