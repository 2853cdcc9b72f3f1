"""The deliverer as Celery starts it: `celery -A worker.webhooks.app worker --pool threads`."""

from __future__ import annotations

from storage.jobs.work_queues import HOOKS_QUEUE
from storage.queue.celery_queue import TicketQueue, create_celery
from storage.runtime.config.settings import load_settings, settings_refused_by
from worker.process.signals import connect
from worker.webhooks.lifecycle import HookProcess
from worker.webhooks.settings import HookSettings

with settings_refused_by("hooks worker"):
    settings = load_settings(HookSettings)

app = create_celery(settings, "rhapsode-hooks", consumed=(HOOKS_QUEUE,))
# A ticket waits while the loop delivers; the next one may wake it meanwhile.
app.conf.worker_concurrency = 2
process = HookProcess(settings, TicketQueue(app))
connect(app, process)
