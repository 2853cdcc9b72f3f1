"""Old uploads are removed."""

from __future__ import annotations

import os
import time
from pathlib import Path

from storage.ids import TenantId, new_upload_id
from storage.objects import keys
from storage.objects.local_store import LocalArtifactStore
from storage.objects.uploads import LIFETIME_S, remove_old_uploads

TENANT = TenantId("alice")


def test_a_file_lies_there_until_its_day_is_over(local_store: LocalArtifactStore, tmp_path: Path) -> None:
    old, new = new_upload_id(), new_upload_id()
    for upload in (old, new):
        local_store.put(keys.upload(TENANT, upload), b"x")
    long_ago_s = time.time() - LIFETIME_S - 60
    for path in (tmp_path / "store").rglob(old):
        os.utime(path, (long_ago_s, long_ago_s))

    assert remove_old_uploads(local_store) == 1
    assert [entry.key for entry in local_store.list(keys.UPLOADS)] == [keys.upload(TENANT, new)]
