"""The janitor's chore for uploads: files whose day is over, and links that brought nothing."""

from __future__ import annotations

import logging
import time

from storage.ids import TenantId, UploadId
from storage.objects import keys
from storage.objects.store import ArtifactStore
from storage.objects.uploads import UNUSED_S, is_over
from storage.tenants.upload_ledger import UploadLedger

logger = logging.getLogger("worker.janitor")


class UploadJanitor:
    """The chore is callable on its own and safe to do twice."""

    def __init__(self, ledger: UploadLedger, artifacts: ArtifactStore) -> None:
        self._ledger = ledger
        self._artifacts = artifacts

    def sweep_uploads(self) -> None:
        """Remove files of more than a day ago: jobs that took them up have copies of their own.

        What is left counts as it lies in the store, and a link that brought nothing counts no more.
        """
        # Listed before the files: what comes in between is not taken for missing.
        unused = list(self._ledger.ordered_before(time.time() - UNUSED_S))
        there: set[tuple[TenantId, UploadId]] = set()
        removed = 0
        for entry in self._artifacts.list(keys.UPLOADS):
            tenant, upload = keys.upload_of(entry.key)
            there.add((tenant, upload))
            if is_over(entry, time.time()):
                self._artifacts.delete(entry.key)
                self._ledger.settle(tenant, upload, 0)
                removed += 1
            else:
                self._ledger.settle(tenant, upload, entry.bytes)
        for tenant, upload in unused:
            if (tenant, upload) not in there:
                self._ledger.settle(tenant, upload, 0)
        if removed:
            logger.info("old uploads removed", extra={"uploads": removed})
