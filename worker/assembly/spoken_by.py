"""What spoke a job, as far as its segments agree. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from storage.jobs.record import SpokenBy
from storage.jobs.work_items import ClaimedItem
from storage.segments.file import SegmentHeader


def spoken_by(item: ClaimedItem, headers: Sequence[SegmentHeader]) -> SpokenBy:
    """headers: of all segments of the job; where they differ, the manifest tells them apart."""
    revision = _only(header.revision for header in headers)
    own_voice = item.narration.own_voice
    return SpokenBy(
        model_revision=revision,
        voice_cache=own_voice.content(item.lease.tenant, revision) if own_voice and revision else None,
        config_sha256=_only(header.config_sha256 for header in headers),
    )


def _only(values: Iterable[str]) -> str | None:
    """What all of them are; None also if it is not known of one of them."""
    found = set(values)
    return next(iter(found)) or None if len(found) == 1 else None
