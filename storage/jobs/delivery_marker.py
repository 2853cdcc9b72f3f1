"""The file in a caller's bucket that tells how far a delivery is: put there when the job is accepted, and again as the
last of all. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from storage.ids import JobId
from storage.jobs.record import ArtifactRecord

MARKER_NAME = "rhapsode.json"


def accepted_marker(job: JobId) -> bytes:
    return _encoded({"job": job, "state": "accepted", "files": []})


def complete_marker(job: JobId, files: Sequence[ArtifactRecord]) -> bytes:
    told = [{"name": file.name, "bytes": file.bytes, "sha256": file.sha256} for file in files]
    return _encoded({"job": job, "state": "complete", "files": told})


def _encoded(marker: dict[str, object]) -> bytes:
    return json.dumps(marker, ensure_ascii=False, indent=1).encode()
