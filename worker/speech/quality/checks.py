"""The `basic` quality gate: what is wrong with an utterance, found without another model. Pure.

It hears silence, cuts, loops, clipping and wrong lengths; where the checkpoint is calibrated also clicks, holes, noise
and another voice. It cannot hear wrong words; a recogniser can.
"""

from __future__ import annotations

from collections.abc import Iterator

from worker.engine.interface import FinishReason, Speech
from worker.speech.alignment.fit import misfit
from worker.speech.quality.calibration.calibration_file import SpeechBounds
from worker.speech.quality.calibration.sound_bounds import SoundBounds, VoiceNorm
from worker.speech.quality.expectation import DurationModel
from worker.speech.quality.findings import Defect, SpeechFinding, worst_first
from worker.speech.quality.measures import SpeechMeasures, measure
from worker.speech.quality.sound.measures import SoundMeasures, measure_sound
from worker.speech.quality.sound.semitones import wrong_pitch
from worker.speech.quality.sound.spectra import strangeness
from worker.speech.quality.sound.spectrum import HOP_S

MAX_REPEATED_FRAMES = 3
"""In good speech hardly a single audible frame comes again in all codebooks; a quarter of a second never does."""

MAX_CLIPPED_SHARE = 0.001

SHORT_WORDS = 3
"""Up to so many are judged by their sounds: a recogniser guesses."""

MOST_UNLIKE, MOST_EXTRA = 3.55, 106.0
SHORTER_COUNTS, LONGER_COUNTS = 2.0, 50.0
"""See `misfit`; a length at its bound counts as so much of either. Bounds are 12 % beyond the worst of good lines: one
half of `benchmarks/speech/short_lines.txt`, said by six voices of Kokoro.
"""


def basic_findings(speech: Speech, text: str, bounds: SpeechBounds) -> tuple[SpeechFinding, ...]:
    """Everything found, worst first; empty for speech that passes."""
    measures = measure(speech)
    return worst_first(measured_findings(speech, measures, sound_of(speech, measures), text, bounds))


def sound_of(speech: Speech, measures: SpeechMeasures) -> SoundMeasures | None:
    """None if nothing is audible, or the samples are no valid sound."""
    is_sound = measures.speech_s > 0 and measures.finite_share == 1
    return measure_sound(speech, measures.loudness_db) if is_sound else None


def measured_findings(
    speech: Speech, measures: SpeechMeasures, sound: SoundMeasures | None, text: str, bounds: SpeechBounds
) -> list[SpeechFinding]:
    """As `basic_findings`, of speech that is measured already; in no order."""
    findings = list(_findings(speech, measures, text, bounds))
    if sound and bounds.sound:
        found = sound_findings(sound, bounds.sound, bounds.voice)
        # The halves of so short a line are other sounds: "past six" ends in a soft one.
        findings += [each for each in found if each.defect is not Defect.LEVEL_CHANGE or not is_short(text)]
    return findings


def is_short(text: str) -> bool:
    return len(text.split()) <= SHORT_WORDS


def _findings(speech: Speech, measures: SpeechMeasures, text: str, bounds: SpeechBounds) -> Iterator[SpeechFinding]:
    if measures.finite_share < 1:
        yield SpeechFinding(Defect.NOT_FINITE, measures.finite_share, 1.0)
    if speech.finish_reason is not FinishReason.EOS:
        yield SpeechFinding(Defect.UNFINISHED, measures.total_s, measures.total_s, measures.total_s)
    if measures.speech_s == 0:
        # Silence has no length, level or end that could be wrong, too.
        yield SpeechFinding(Defect.SILENT, measures.loudness_db, bounds.quietest_db)
        return
    if bounds.duration:
        yield from _duration_findings(measures, text, bounds.duration)
        yield from _end_findings(measures, text, bounds.duration, bounds.final_codes)
        if speech.phones and is_short(text):
            yield from _fit_findings(speech, measures, text, bounds.duration)
    yield from _silence_findings(measures, bounds)
    yield from _sound_findings(measures, bounds, len(speech.frames))


def _above(defect: Defect, measured: float, bound: float, at_s: float | None = None) -> Iterator[SpeechFinding]:
    if measured > bound:
        yield SpeechFinding(defect, measured, bound, at_s)


def _duration_findings(measures: SpeechMeasures, text: str, model: DurationModel) -> Iterator[SpeechFinding]:
    if measures.speech_s < (shortest_s := model.shortest_s(text)):
        yield SpeechFinding(Defect.TOO_SHORT, measures.speech_s, shortest_s)
    yield from _above(Defect.TOO_LONG, measures.speech_s, model.longest_s(text))


def _end_findings(
    measures: SpeechMeasures, text: str, model: DurationModel, final_codes: tuple[int, ...]
) -> Iterator[SpeechFinding]:
    """A stop at a pause sounds like an end and is hardly too short; either sign alone would condemn good speech."""
    usual_s = model.usual_s(text)
    if final_codes and measures.final_code not in final_codes and measures.speech_s < usual_s:
        yield SpeechFinding(Defect.EARLY_END, measures.speech_s, usual_s, measures.total_s)


def _fit_findings(speech: Speech, measures: SpeechMeasures, text: str, model: DurationModel) -> Iterator[SpeechFinding]:
    expected_s = model.expected_s(text)
    longer = min(max((measures.speech_s - expected_s) / (model.longest_s(text) - expected_s), -1.0), 1.0)
    unlike, extra = misfit(speech)
    unlike, extra = unlike + SHORTER_COUNTS * max(-longer, 0), extra + LONGER_COUNTS * longer
    if unlike > MOST_UNLIKE:
        yield SpeechFinding(Defect.WRONG_WORDS, unlike, MOST_UNLIKE, said="its sounds are not those of its words")
    if extra > MOST_EXTRA:
        yield SpeechFinding(Defect.WRONG_WORDS, extra, MOST_EXTRA, said="it has sounds that none of its words has")


def _silence_findings(measures: SpeechMeasures, bounds: SpeechBounds) -> Iterator[SpeechFinding]:
    pause_s, edge_s = bounds.longest_pause_s, bounds.longest_edge_s
    yield from _above(Defect.LONG_PAUSE, measures.longest_pause_s, pause_s, measures.longest_pause_at_s)
    yield from _above(Defect.LONG_EDGE, measures.leading_s, edge_s, 0.0)
    yield from _above(Defect.LONG_EDGE, measures.trailing_s, edge_s, measures.total_s - measures.trailing_s)


def _sound_findings(measures: SpeechMeasures, bounds: SpeechBounds, num_frames: int) -> Iterator[SpeechFinding]:
    if measures.repeat.frames > MAX_REPEATED_FRAMES:
        place_s = measures.repeat.at * measures.total_s / num_frames
        yield SpeechFinding(Defect.REPEATED_FRAMES, measures.repeat.frames, MAX_REPEATED_FRAMES, place_s)
    yield from _above(Defect.CUT_END, measures.end_db, bounds.loudest_end_db, measures.total_s)
    yield from _above(Defect.CLIPPED, measures.clipped_share, MAX_CLIPPED_SHARE)
    if measures.loudness_db < bounds.quietest_db:
        yield SpeechFinding(Defect.LEVEL, measures.loudness_db, bounds.quietest_db)
    yield from _above(Defect.LEVEL, measures.loudness_db, bounds.loudest_db)


def sound_findings(measures: SoundMeasures, general: SoundBounds, voice: VoiceNorm | None) -> Iterator[SpeechFinding]:
    """voice: None for one that was not measured; then only what no voice of the checkpoint does is found."""
    bounds = voice.sound if voice else general
    yield from _above(Defect.CLICK, measures.click_db, bounds.click_db, measures.click_at_s)
    yield from _above(Defect.HOLE, measures.hole_db, bounds.hole_db, measures.hole_at_s)
    yield from _above(Defect.BACKGROUND, measures.background_db, bounds.background_db)
    if not -bounds.fall_db <= measures.change_db <= bounds.rise_db:
        bound = bounds.rise_db if measures.change_db > 0 else -bounds.fall_db
        yield SpeechFinding(Defect.LEVEL_CHANGE, measures.change_db, bound)
    if voice:
        yield from _unlike(measures, voice)


def _unlike(measures: SoundMeasures, voice: VoiceNorm) -> Iterator[SpeechFinding]:
    whole, stretch, window = strangeness(measures.spectra, voice.spectra)
    yield from _above(Defect.OTHER_VOICE, whole, voice.strange_db)
    yield from _above(Defect.NOISE, stretch, voice.strange_stretch_db, window * HOP_S)
    yield from wrong_pitch(measures.pitch_hz, voice.pitch_hz, voice.semitones)
