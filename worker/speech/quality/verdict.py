"""One utterance and what is to be said of it, as far as it can be measured without another model. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from rhapsode.contract.jobs.quality import Gate
from worker.engine.interface import Speech
from worker.speech.audio.loudness import loudness_of
from worker.speech.quality.calibration.calibration_file import SpeechBounds
from worker.speech.quality.checks import measured_findings, sound_of
from worker.speech.quality.findings import HARD, SEVERITY, Defect, SpeechFinding, worst_first
from worker.speech.quality.job_norms import JobNorms, unusual_in_job
from worker.speech.quality.measures import SpeechMeasures, finite_share, measure
from worker.speech.quality.sound.measures import SoundMeasures
from worker.speech.quality.sound.spectra import strangeness
from worker.speech.quality.sound.timbre import Timbre, away_db, timbre_of, unlike_timbre


@dataclass(frozen=True, slots=True)
class JudgedUtterance:
    """Speech and what it was to say. language: the model's name for it, or "auto"."""

    speech: Speech
    text: str
    speaker: str
    language: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """findings: worst first, empty for speech that passes. checks: what was measured, by name, for the manifest.

    unheard: the gate asked for a recogniser and none knows the language. timbre: of a voice that no calibration knows,
    None where the utterance is too short to tell.
    """

    findings: tuple[SpeechFinding, ...]
    checks: dict[str, float]
    loudness_lufs: float | None
    unheard: bool = False
    timbre: Timbre | None = None

    @property
    def passed(self) -> bool:
        return not self.findings

    @property
    def flags(self) -> tuple[str, ...]:
        """The names of what was found, each once."""
        return tuple(dict.fromkeys(finding.defect.value for finding in self.findings))

    @property
    def is_hard(self) -> bool:
        """Whether nothing of it can be kept."""
        return any(finding.defect in HARD for finding in self.findings)

    def badness(self) -> tuple[float, ...]:
        """Smaller is better: more than slight findings, how grave the worst is, how far beyond, how many there are."""
        if not self.findings:
            return (0,)
        worst = self.findings[0]
        gravity = len(SEVERITY) - SEVERITY.index(worst.defect)
        is_slight = all(finding.is_slight for finding in self.findings)
        return (1 if is_slight else 2, gravity, worst.excess, len(self.findings))


def measured_verdict(utterance: JudgedUtterance, gate: Gate, bounds: SpeechBounds, norms: JobNorms | None) -> Verdict:
    """bounds: what is usual for its speaker. norms: of the job so far, None while it has hardly any."""
    if gate is Gate.OFF:
        return _unchecked(utterance.speech)
    measures = measure(utterance.speech)
    loudness = _loudness_lufs(utterance.speech, measures.finite_share)
    sound = sound_of(utterance.speech, measures)
    findings = measured_findings(utterance.speech, measures, sound, utterance.text, bounds)
    timbre = timbre_of(sound, measures.speech_s) if sound and bounds.voice is None else None
    if norms and measures.speech_s:
        findings += unusual_in_job(utterance.text, measures.speech_s, loudness, norms, bounds.duration)
    if norms and norms.timbre and timbre:
        findings += unlike_timbre(timbre, norms.timbre)
    checks = _checks(utterance.text, measures, bounds) | _likeness(sound, timbre, bounds, norms)
    return Verdict(worst_first(findings), checks, loudness, timbre=timbre)


def _unchecked(speech: Speech) -> Verdict:
    """What is no number cannot be stored as a sample, also where the gate is off."""
    share = finite_share(speech.pcm)
    findings = () if share == 1 else (SpeechFinding(Defect.NOT_FINITE, share, 1.0),)
    return Verdict(findings, {}, _loudness_lufs(speech, share))


def _loudness_lufs(speech: Speech, finite: float) -> float | None:
    return loudness_of(speech.pcm, speech.sample_rate_hz) if finite == 1 else None


def _checks(text: str, measures: SpeechMeasures, bounds: SpeechBounds) -> dict[str, float]:
    checks = {
        "speech_s": round(measures.speech_s, 3),
        "silence_ratio": round(measures.silence_share, 4),
        "longest_pause_s": round(measures.longest_pause_s, 3),
        "clipped": round(measures.clipped_share, 6),
        "repeat": float(measures.repeat.frames),
    }
    if bounds.duration:
        expected_s = bounds.duration.expected_s(text)
        checks["duration_ratio"] = round(measures.speech_s / max(expected_s, 0.1), 4)
    return checks


def _likeness(
    sound: SoundMeasures | None, timbre: Timbre | None, bounds: SpeechBounds, norms: JobNorms | None
) -> dict[str, float]:
    """voice_db: how far its spectra are from its voice's, in dB a band. What is not known is left out."""
    likeness: dict[str, float] = {}
    if sound and sound.pitch_hz is not None:
        likeness["pitch_hz"] = round(sound.pitch_hz, 1)
    if sound and bounds.voice:
        likeness["voice_db"] = round(strangeness(sound.spectra, bounds.voice.spectra)[0], 2)
    elif timbre and norms and norms.timbre:
        likeness["voice_db"] = round(away_db(timbre.bands_db, norms.timbre.bands_db), 2)
    return likeness
