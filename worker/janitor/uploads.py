"""The janitor's chore for uploads: files whose day is over."""

from __future__ import annotations

import logging
import time

from storage.objects import keys
from storage.objects.store import ArtifactStore
from storage.objects.uploads import is_over

logger = logging.getLogger("worker.janitor")


class UploadJanitor:
    """The chore is callable on its own and safe to do twice."""

    def __init__(self, artifacts: ArtifactStore) -> None:
        self._artifacts = artifacts

    def sweep_uploads(self) -> None:
        """Remove files of more than a day ago: jobs that took them up have copies of their own."""
        old = [entry.key for entry in self._artifacts.list(keys.UPLOADS) if is_over(entry, time.time())]
        for key in old:
            self._artifacts.delete(key)
        if old:
            logger.info("old uploads removed", extra={"uploads": len(old)})
