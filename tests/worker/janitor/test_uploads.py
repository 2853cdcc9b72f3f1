"""Uploads as the janitor leaves them: old files are gone."""

from __future__ import annotations

import os
import time
from pathlib import Path

from storage.ids import new_upload_id
from storage.objects import keys
from storage.objects.local_store import LocalArtifactStore
from storage.objects.uploads import LIFETIME_S
from tests.worker.studio import TENANT
from worker.janitor.uploads import UploadJanitor


def test_a_file_lies_there_until_its_day_is_over(local_store: LocalArtifactStore, tmp_path: Path) -> None:
    old, new = new_upload_id(), new_upload_id()
    for upload in (old, new):
        local_store.put(keys.upload(TENANT, upload), b"x")
    long_ago_s = time.time() - LIFETIME_S - 60
    for path in (tmp_path / "store").rglob(old):
        os.utime(path, (long_ago_s, long_ago_s))

    UploadJanitor(local_store).sweep_uploads()

    assert [entry.key for entry in local_store.list(keys.UPLOADS)] == [keys.upload(TENANT, new)]
