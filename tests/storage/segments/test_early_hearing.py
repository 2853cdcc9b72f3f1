from __future__ import annotations

import pytest

from rhapsode.contract.jobs.quality import Gate, OnExhausted, Quality
from storage.segments.early_hearing import is_heard_early


@pytest.mark.parametrize("on_exhausted", OnExhausted)
def test_only_what_would_be_delivered_anyway_is_heard_before_it_is_checked(on_exhausted: OnExhausted) -> None:
    is_kept = on_exhausted in (OnExhausted.KEEP_BEST, OnExhausted.KEEP_BEST_OR_GAP)

    assert is_heard_early(Quality(gate=Gate.OFF, on_exhausted=on_exhausted))
    assert is_heard_early(Quality(gate=Gate.BASIC, on_exhausted=on_exhausted)) is is_kept
    assert not is_heard_early(Quality(gate=Gate.ASR, on_exhausted=on_exhausted))
