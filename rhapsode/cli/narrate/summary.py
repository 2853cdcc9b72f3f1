"""The result that `rhapsode narrate` prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.cli.narrate.targets import Targets
    from rhapsode.client.resources import Job
    from rhapsode.client.sync.client import Rhapsode
    from rhapsode.contract.jobs.answer import Artifact


def summarise(
    client: Rhapsode, job: Job, artifact: Artifact, targets: Targets, wall_s: float, *, as_json: bool
) -> None:
    """Real-time factor: wall seconds from submission to success, per second of speech; lower is better."""
    from rhapsode.cli.formatting import counted, span, warned
    from rhapsode.contract.jobs.narration import ShownNarration

    audio_s = artifact.duration_s or 0.0
    factor = wall_s / audio_s if audio_s else 0.0
    request = job.request if isinstance(job.request, ShownNarration) else None
    notice = next((m.notice for m in client.models() if request and m.name == request.model), "")
    if as_json:
        facts = {
            "file": str(targets.main),
            "chapter_folder": str(targets.chapters.folder) if targets.chapters else None,
            "job": job.id,
            "audio_s": round(audio_s, 3),
            "wall_s": round(wall_s, 3),
            "real_time_factor": round(factor, 4),
            "segments": job.progress.segments.total,
            "model": request.model if request else None,
            "voice": request.voice if request else None,
            "seed": request.seed if request else None,
            "notice": notice,
            "warnings": [each.model_dump() for each in job.warnings],
        }
        echo(json.dumps(facts))
        return
    speed = f", {1 / factor:.1f}x real time (real-time factor {factor:.3f})" if factor else ""
    echo(f"{targets.main}: {span(audio_s)} of speech in {span(wall_s)}{speed}")
    if targets.chapters:
        num_files = sum(each.files or 0 for each in job.artifacts)
        echo(f"  {counted(num_files, 'chapter')} as files in {targets.chapters.folder}")
    if request:
        segments = counted(job.progress.segments.total, "segment")
        echo(f"  {segments}, model {request.model}, voice {request.voice}, seed {request.seed}")
    if notice:
        echo(f"  {notice}")
    for warning in job.warnings:
        echo(f"  {warned(warning)}")
