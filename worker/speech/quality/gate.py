"""The quality gate: one utterance in, a verdict out. Knows what is usual for the checkpoint, and who can listen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rhapsode.contract.jobs.quality import Gate
from worker.speech.quality.calibration.calibration_file import (
    FILE_NAME,
    UNCALIBRATED,
    Calibration,
    SpeechBounds,
    read_calibration,
)
from worker.speech.quality.findings import Defect, worst_first
from worker.speech.quality.job_norms import JobNorms
from worker.speech.quality.listening import Recognisers, compared, word_findings
from worker.speech.quality.verdict import JudgedUtterance, Verdict

Measured = Callable[[JudgedUtterance, Gate, SpeechBounds, JobNorms | None], Verdict]
"""`measured_verdict`, in this process or another."""


class QualityGate:
    """Thread-safe; one per worker."""

    def __init__(self, calibration: Calibration, recognisers: Recognisers, measured: Measured) -> None:
        self._calibration = calibration
        self._recognisers = recognisers
        self._measured = measured

    @property
    def recognised_languages(self) -> tuple[str, ...]:
        return tuple(sorted(self._recognisers))

    def bounds(self, speaker: str, language: str) -> SpeechBounds:
        """What is usual for this speaker in this language; for one that was not measured, what is for all."""
        return self._calibration.bounds(language, speaker)

    def judge(self, utterance: JudgedUtterance, gate: Gate, norms: JobNorms | None) -> Verdict:
        """norms: of the job so far, None while it has hardly any."""
        verdict = self._measured(utterance, gate, self.bounds(utterance.speaker, utterance.language), norms)
        return self._heard(utterance, verdict) if gate is Gate.ASR else verdict

    def _heard(self, utterance: JudgedUtterance, verdict: Verdict) -> Verdict:
        language = self._meant(utterance.language)
        recogniser = self._recognisers.get(language)
        if recogniser is None:
            return replace(verdict, unheard=True)
        if any(finding.defect in (Defect.NOT_FINITE, Defect.SILENT) for finding in verdict.findings):
            return verdict
        heard = compared(utterance.text, recogniser.transcribe(utterance.speech), language)
        errors = heard.errors
        checks = {**verdict.checks, "wer": round(errors.rate, 4), "longest_run": float(errors.longest_run)}
        return replace(verdict, findings=worst_first([*verdict.findings, *word_findings(heard)]), checks=checks)

    def _meant(self, language: str) -> str:
        """The language; the only one that can be read back, if the caller left it open."""
        if language == "auto" and len(self._recognisers) == 1:
            return next(iter(self._recognisers))
        return language


def checkpoint_calibration(checkpoint: Path, revision: str) -> Calibration:
    """What was measured of these very weights; `UNCALIBRATED` if nothing was. Raises `CalibrationUnreadable`."""
    path = checkpoint / FILE_NAME
    calibration = read_calibration(path) if path.exists() else UNCALIBRATED
    return calibration if calibration.revision == revision else UNCALIBRATED
