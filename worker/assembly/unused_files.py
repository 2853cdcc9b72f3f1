"""Finished files that nothing points at any more."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from storage.errors import StoreUnavailable
from storage.jobs.chapter_files import CHAPTERS, is_listed
from storage.jobs.record import ArtifactRecord
from storage.jobs.work_items import ClaimedItem
from storage.objects import keys
from storage.objects.store import ArtifactStore

logger = logging.getLogger(__name__)


def delete_earlier(item: ClaimedItem, finished: Sequence[ArtifactRecord], artifacts: ArtifactStore) -> None:
    """What runs before this one made and nothing points at any more. If the store fails, it goes with the job."""
    lease, destination = item.lease, item.narration.request.output.destination
    wanted, listings = {each.key for each in finished}, [each for each in finished if each.type == CHAPTERS]
    try:
        for entry in artifacts.list(keys.all_artifacts_prefix(lease.tenant, lease.job, destination)):
            is_wanted = entry.key in wanted or any(is_listed(entry.key, each) for each in listings)
            if keys.artifact_fence(entry.key) < lease.fence and not is_wanted:
                artifacts.delete(entry.key)
    except StoreUnavailable as error:
        logger.warning("earlier artifacts left in the store", extra={"error": str(error)})


def delete_made(item: ClaimedItem, artifacts: ArtifactStore) -> None:
    """What this run made, where its job took something else. If the store fails, it goes with the job."""
    try:
        artifacts.delete_prefix(keys.artifacts_prefix(item.lease, item.narration.request.output.destination))
    except StoreUnavailable as error:
        logger.warning("files left in the store", extra={"error": str(error)})
