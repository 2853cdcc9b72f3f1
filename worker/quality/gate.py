"""The quality gate: one utterance in, a verdict out. Knows what is usual for the checkpoint, and who can listen."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from storage.quality import Gate
from worker.engine.interface import Speech
from worker.loudness import LoudnessMeter
from worker.quality.calibration import (
    FILE_NAME,
    Calibration,
    SpeechBounds,
    read_calibration,
)
from worker.quality.checks import SEVERITY, Defect, Finding, measured_findings, worst_first
from worker.quality.job_norms import JobNorms, unusual_in_job
from worker.quality.listening import Recognisers, listen, word_findings
from worker.quality.measures import SpeechMeasures, finite_share, measure


@dataclass(frozen=True, slots=True)
class Utterance:
    """Speech and what it was to say. language: the model's name for it, or "auto"."""

    speech: Speech
    text: str
    speaker: str
    language: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """findings: worst first, empty for speech that passes. checks: what was measured, by name, for the manifest.

    unheard: the gate asked for a recogniser and none knows the language.
    """

    findings: tuple[Finding, ...]
    checks: dict[str, float]
    loudness_lufs: float | None
    unheard: bool = False

    @property
    def passed(self) -> bool:
        return not self.findings

    @property
    def flags(self) -> tuple[str, ...]:
        """The names of what was found, each once."""
        return tuple(dict.fromkeys(finding.defect.value for finding in self.findings))

    def badness(self) -> tuple[int, int]:
        """Smaller is better: how grave the worst finding is, then how many there are."""
        if not self.findings:
            return 0, 0
        return len(SEVERITY) - SEVERITY.index(self.findings[0].defect), len(self.findings)


class QualityGate:
    """Thread-safe; one per worker."""

    def __init__(self, calibration: Calibration, recognisers: Recognisers) -> None:
        self._calibration = calibration
        self._recognisers = recognisers

    @property
    def recognised_languages(self) -> tuple[str, ...]:
        return tuple(sorted(self._recognisers))

    def bounds(self, speaker: str, language: str) -> SpeechBounds:
        """What is usual for this speaker in this language; for one that nobody measured, what is for all."""
        return self._calibration.bounds(language, speaker)

    def judge(self, utterance: Utterance, gate: Gate, norms: JobNorms | None) -> Verdict:
        """norms: of the job so far, None while it has hardly any."""
        share = finite_share(utterance.speech.pcm)
        loudness = loudness_of(utterance.speech) if share == 1 else None
        if gate is Gate.OFF:
            # What is no number cannot be stored as a sample, whatever nobody wanted to know of it.
            findings = () if share == 1 else (Finding(Defect.NOT_FINITE, share, 1.0),)
            return Verdict(findings, {}, loudness)
        verdict = self._basic(utterance, measure(utterance.speech), loudness, norms)
        return self._heard(utterance, verdict) if gate is Gate.ASR else verdict

    def _basic(
        self, utterance: Utterance, measures: SpeechMeasures, loudness: float | None, norms: JobNorms | None
    ) -> Verdict:
        bounds = self.bounds(utterance.speaker, utterance.language)
        findings = measured_findings(utterance.speech, measures, utterance.text, bounds)
        if norms and measures.speech_s:
            findings += unusual_in_job(utterance.text, measures.speech_s, loudness, norms, bounds.duration)
        checks = {
            "speech_s": round(measures.speech_s, 3),
            "silence_ratio": round(measures.silence_share, 4),
            "longest_pause_s": round(measures.longest_pause_s, 3),
            "clipped": round(measures.clipped_share, 6),
            "repeat": float(measures.repeat.frames),
        }
        if bounds.duration:
            expected_s = bounds.duration.expected_s(utterance.text)
            checks["duration_ratio"] = round(measures.speech_s / max(expected_s, 0.1), 4)
        return Verdict(worst_first(findings), checks, loudness)

    def _heard(self, utterance: Utterance, verdict: Verdict) -> Verdict:
        language = self._meant(utterance.language)
        recogniser = self._recognisers.get(language)
        if recogniser is None:
            return replace(verdict, unheard=True)
        if any(finding.defect in (Defect.NOT_FINITE, Defect.SILENT) for finding in verdict.findings):
            return verdict
        errors = listen(utterance.speech, utterance.text, language, recogniser).errors
        checks = {**verdict.checks, "wer": round(errors.rate, 4), "longest_run": float(errors.longest_run)}
        return replace(verdict, findings=worst_first([*verdict.findings, *word_findings(errors)]), checks=checks)

    def _meant(self, language: str) -> str:
        """The language; the only one that can be read back, if the caller left it open."""
        if language == "auto" and len(self._recognisers) == 1:
            return next(iter(self._recognisers))
        return language


def loudness_of(speech: Speech) -> float | None:
    """Integrated loudness in LUFS; None for silence and for less than 400 ms."""
    meter = LoudnessMeter(speech.sample_rate_hz)
    meter.add(speech.pcm.astype(np.float64))
    lufs = meter.integrated_lufs()
    return None if math.isinf(lufs) else round(lufs, 2)


def checkpoint_calibration(checkpoint: Path, revision: str) -> Calibration | None:
    """What was measured of these very weights; None if nothing was. Raises `CalibrationUnreadable`."""
    path = checkpoint / FILE_NAME
    if not path.exists():
        return None
    calibration = read_calibration(path)
    return calibration if calibration.revision == revision else None
