"""The worker that speaks: `celery -A worker.gpu_app worker --pool threads`."""

from __future__ import annotations

from worker.app import worker_app
from worker.settings import WorkerSettings

app = worker_app(WorkerSettings)
