"""Storing an object whose key is one worker's alone: doing it twice is as good as once."""

from __future__ import annotations

import hashlib

from storage.errors import ArtifactExists
from storage.objects.store import ArtifactStore


def put_once(artifacts: ArtifactStore, key: str, data: bytes) -> str:
    """One try at a key of this lease alone; returns its sha256.

    Finding the key taken by as many bytes means that an earlier try arrived and its answer did not. Raises
    `ArtifactExists` for another number of bytes, and `StoreUnavailable`.
    """
    try:
        return artifacts.put(key, data).sha256
    except ArtifactExists:
        stored = artifacts.stat(key)
        if stored is None or stored.bytes != len(data):
            raise
        return hashlib.sha256(data).hexdigest()
