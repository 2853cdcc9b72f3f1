"""The worker that speaks, for `worker.process.celery_command`."""

from __future__ import annotations

from tests.worker.lifecycle.fronts.settings import FrontsSettings
from worker.app import worker_app

app = worker_app(FrontsSettings)
