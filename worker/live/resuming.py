"""Where a stream goes on that another worker began. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from storage.live.messages import Resume
from storage.live.orders import LiveOrder
from worker.engine.interface import CodecFrames, EngineInfo
from worker.live.errors import StreamRefused


@dataclass(frozen=True, slots=True)
class ResumeStart:
    """The first segment that is spoken here.

    prefix: its frames that were played, if speech continues after them; None at its beginning. is_begun: whether there
    was more than silence in them. skip_frames, skip_samples: if the whole segment is generated again, so much was
    played and is not sent again.
    """

    segment: int = 0
    prefix: CodecFrames | None = None
    is_begun: bool = False
    skip_frames: int = 0
    skip_samples: int = 0


def start_of(order: LiveOrder, resume: Resume | None, codes: bytes, info: EngineInfo) -> ResumeStart:
    """Strict orders, and engines without codes, promise equal bytes. They generate the whole segment again, which takes
    longer.

    Raises `StreamRefused`.
    """
    if resume is None:
        return ResumeStart()
    if not info.num_codebooks:
        return ResumeStart(resume.segment, skip_samples=resume.num_samples_heard)
    frames = _frames(codes, info)
    if order.narration.is_strict:
        return ResumeStart(resume.segment, skip_frames=len(frames), skip_samples=resume.num_samples_heard)
    if not len(frames):
        return ResumeStart(resume.segment)
    return ResumeStart(resume.segment, frames, is_begun=resume.num_samples_heard > 0)


def _frames(codes: bytes, info: EngineInfo) -> CodecFrames:
    if len(codes) % (2 * info.num_codebooks):
        raise StreamRefused("invalid_request", "the codes of the played audio are no whole number of frames")
    frames = np.frombuffer(codes, "<i2").astype(np.int16).reshape(-1, info.num_codebooks)
    if frames.size and not 0 <= int(frames.min()) <= int(frames.max()) < info.codebook_size:
        raise StreamRefused("invalid_request", "the codes of the played audio are not of this model")
    return frames
