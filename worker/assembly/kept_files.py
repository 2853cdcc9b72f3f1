"""Files of a job's earlier assemblies that stay beside those of the latest, as they were."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from storage.jobs.record import ArtifactRecord
from storage.segments.timeline import Placed


def speech_digest(placed: Iterable[Placed]) -> str:
    """Of what is heard, however it is encoded: equal ones say the same in the same voice at the same pace. Pure."""
    heard = hashlib.sha256()
    for each in placed:
        speed = "" if each.speed == 1 else f" {each.speed}"
        head = f" head {each.num_head}" if each.num_head else ""
        heard.update(f"{each.result.sha256} {each.num_gap}{speed}{head}\n".encode())
    return heard.hexdigest()[:32]


def with_kept_files(made: Sequence[ArtifactRecord], earlier: Sequence[ArtifactRecord]) -> list[ArtifactRecord]:
    """What was made now, and behind it what was made of the same speech under names that are not made again. Pure.

    A file of another speech (a segment was edited, or spoken again) goes: beside the new ones it would say what is
    not so any more.
    """
    names = {artifact.name for artifact in made}
    speeches = {artifact.speech for artifact in made}
    return [*made, *(each for each in earlier if each.name not in names and each.speech in speeches)]
