"""Where a stream goes on that another worker began."""

from __future__ import annotations

from dataclasses import replace

from rhapsode.contract.jobs.narration import Narration
from storage.live.messages import Resume
from storage.live.orders import LiveOrder
from tests.worker.studio import TENANT
from worker.engine.fake import describe_fake
from worker.engine.settings import FakeEngineSettings
from worker.live.resuming import ResumeStart, start_of

INFO = describe_fake(FakeEngineSettings())


def test_speech_without_codes_is_spoken_anew_and_what_was_heard_is_left_out() -> None:
    resume = Resume(segment=2, num_samples_heard=4_800)
    order = LiveOrder(tenant=TENANT, text="Hello.", narration=Narration(model="fake", voice="ada"))

    start = start_of(order, resume, b"", replace(INFO, num_codebooks=0, codebook_size=0))

    assert start == ResumeStart(2, skip_samples=4_800)
