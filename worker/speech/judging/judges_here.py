"""Which of the two judges is installed. torch is loaded for those alone."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from worker.speech.judging.messages import NotJudged

INSTALL = "pip install --no-deps Resemblyzer==0.1.4 distillmos==0.9.1 xls-r-sqa==0.1.0"

if TYPE_CHECKING:
    from worker.speech.judging.judges import QualityJudge, SimilarityEncoder


def find_encoder() -> SimilarityEncoder | NotJudged:
    if missing := _missing("resemblyzer"):
        return NotJudged("likeness", missing)
    from worker.speech.judging.judges import SimilarityEncoder

    return SimilarityEncoder()


def find_quality_judge() -> QualityJudge | NotJudged:
    if missing := _missing("distillmos", "xls_r_sqa"):
        return NotJudged("distillMOS", missing)
    from worker.speech.judging.judges import QualityJudge

    return QualityJudge()


def _missing(*packages: str) -> str:
    """What to do about it; "" if all are here."""
    for name in packages:
        if importlib.util.find_spec(name) is None:
            return f"{name} is not installed: {INSTALL}"
    return ""
