"""Which segments have the job's pauses inside, and that they are other speech for who looks for one to use again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rhapsode.contract.jobs.input import InnerPauses, Pauses
from rhapsode.contract.jobs.options import Sampling
from rhapsode.contract.jobs.quality import Gate
from storage.ids import TenantId
from storage.job_store.segment_reuse import SegmentContent
from worker.speech.postprocessing.sentence_ends import SentencePauses
from worker.synthesis.segment_record import sentence_pauses
from worker.synthesis.spoken_segment import SpokenSegment

TWO = ("One is here.", "Two is there.")
ASKED = Pauses(sentence_s=0.6, inside=InnerPauses.ASKED)
SEGMENT = SpokenSegment(0, " ".join(TWO), 26, "", "ada", None, "English", "", None, 0, 1, sentences=TWO)


def test_two_sentences_of_english_have_the_pause_that_is_asked_for() -> None:
    assert sentence_pauses(ASKED, SEGMENT) == SentencePauses(TWO, 0.6)
    assert sentence_pauses(ASKED, replace(SEGMENT, language="auto")) is not None


@pytest.mark.parametrize(
    ("pauses", "segment"),
    [
        (Pauses(sentence_s=0.6), SEGMENT),
        (ASKED, replace(SEGMENT, language="german")),
        (ASKED, replace(SEGMENT, sentences=TWO[:1])),
    ],
)
def test_others_are_as_the_model_speaks(pauses: Pauses, segment: SpokenSegment) -> None:
    assert sentence_pauses(pauses, segment) is None


def test_another_pause_is_another_sound() -> None:
    plain = SegmentContent(TenantId("t"), "a", "v", "m", "r", "english", "", Sampling(), None, 0, Gate.OFF)

    ids = {replace(plain, inner_pause_s=pause_s).id for pause_s in (None, 0.45, 0.6)}

    assert len(ids) == 3
