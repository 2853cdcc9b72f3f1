"""The worker that plans and assembles: `celery -A worker.cpu_app worker --pool threads`."""

from __future__ import annotations

from worker.app import worker_app
from worker.settings import CpuWorkerSettings

app = worker_app(CpuWorkerSettings)
