"""A job's segments as the API shows them: the plan, what was edited over it, and what became of it. Pure."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass

from api.http.links import LinkBuilder
from api.http.times import audio_s
from api.jobs.answers.segment_ids import segment_id, sentence_id
from reading.plan.plan import PlanSegment
from rhapsode.contract.segments import Respelling, Segment, SegmentLinks, Sentence, Take, TriedAttempt
from storage.job_store.segment_reads import SegmentStates, StoredTake
from storage.jobs.record import JobRecord
from storage.narration.spec import NarrationSpec
from storage.segments.edited import edited_aloud
from storage.segments.edits import SegmentEdit
from storage.segments.results import SegmentResult
from storage.segments.timeline import Pacing, Placed, TimeSpan, num_stretched, pause_after_s, places, spoken_span
from storage.segments.tried import RejectedTake, StoredAttempt

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class SegmentViewer:
    """One job's segments at one moment."""

    record: JobRecord
    spec: NarrationSpec
    segments: tuple[PlanSegment, ...]
    states: SegmentStates
    links: LinkBuilder
    dictionaries: tuple[bytes, ...] = ()

    def edited(self, index: int, edit: SegmentEdit | None = None) -> PlanSegment:
        """As it is said and shown with its edit, or with this one in its place."""
        return edited_aloud(self.segments[index], edit or self.states.edit(index), self.spec.request, self.dictionaries)

    def places(self, until: int) -> dict[int, Placed]:
        """Of the segments before `until` whose predecessors are all done."""
        pacing = Pacing.of(self.spec.request.output)
        placed = places(self.segments[:until], self.states.results, self.record.sample_rate_hz, pacing)
        return {each.planned.index: each for each in placed}

    def speed(self, index: int) -> float:
        """How much faster the segment is than it was spoken."""
        return Pacing.of(self.spec.request.output).speed_of(self.segments[index])

    def segment(self, index: int, place: Placed | None) -> Segment:
        edit = self.states.edit(index)
        planned = self.edited(index)
        result = self.states.results.get(index)
        rejection = self.states.rejections.get(index)
        rejected = rejection.best if rejection else None
        duration_s = self._duration_s(index, result)
        span = spoken_span(place, self.record.sample_rate_hz) if place else None
        return Segment(
            id=segment_id(index),
            index=index,
            source_id=planned.source_id,
            chapter=planned.chapter,
            text=planned.text,
            written=planned.written,
            sentences=_sentences(planned, span),
            edited=edit.differs,
            speaker=planned.speaker,
            voice=self.spec.voice_of(planned.speaker),
            language=self._language(planned),
            instructions=self._instructions(planned),
            state=self.states.state(index),
            take=self.states.take(index),
            takes=self.states.num_takes(index),
            attempts=result.attempts if result else (len(rejection.takes) if rejection else None),
            seed_used=result.seed if result else (rejected.seed if rejected else None),
            finish_reason=result.finish_reason if result else None,
            start_s=round(span.start_s, 3) if span else None,
            duration_s=duration_s,
            pause_after_s=pause_after_s(planned, result.finish_reason if result else ""),
            chars_per_s=round(result.num_chars / duration_s / self.speed(index), 2) if result and duration_s else None,
            loudness_lufs=result.loudness_lufs if result else None,
            findings=tuple(result.flags if result else (rejected.findings if rejected else ())),
            flagged=bool(result and result.flags),
            guessed=_guessed(result, planned) if result else (),
            pronunciations=tuple(Respelling(**asdict(rule)) for rule in edit.rules or ()),
            reused=bool(result and result.reused),
            sha256=result.sha256 if result else None,
            links=SegmentLinks(
                self_=self.links.segment(self.record.id, segment_id(index)),
                takes=self.links.takes(self.record.id, segment_id(index)),
                audio=self.links.segment_audio(self.record.id, segment_id(index)) if result else None,
            ),
        )

    def rejected(self, index: int) -> tuple[TriedAttempt, ...]:
        """Of a failed segment, with links to audio."""
        rejection = self.states.rejections.get(index)
        return tuple(self._rejected(index, take) for take in rejection.takes) if rejection else ()

    def _rejected(self, index: int, take: RejectedTake) -> TriedAttempt:
        link = self.links.segment_audio(self.record.id, segment_id(index), attempt=take.tried.number)
        return shown_attempt(take.tried).model_copy(update={"audio": link if take.sha256 else None})

    def take(self, index: int, take: StoredTake) -> Take:
        planned = self.edited(index, take.edit)
        return Take(
            take=take.number,
            selected=take.is_selected,
            text=planned.text,
            speaker=planned.speaker,
            voice=self.spec.voice_of(planned.speaker),
            language=self._language(planned),
            instructions=self._instructions(planned),
            seed_used=take.result.seed,
            attempts=take.result.attempts,
            finish_reason=take.result.finish_reason,
            duration_s=self._duration_s(index, take.result),
            findings=tuple(take.result.flags),
            flagged=bool(take.result.flags),
            sha256=take.result.sha256,
            audio=self.links.segment_audio(self.record.id, segment_id(index), take.number),
        )

    def _language(self, planned: PlanSegment) -> str:
        return planned.language or self.spec.request.language

    def _instructions(self, planned: PlanSegment) -> str:
        return self.spec.request.instructions if planned.instructions is None else planned.instructions

    def _duration_s(self, index: int, result: SegmentResult | None) -> float | None:
        if result is None:
            return None
        return audio_s(num_stretched(result.num_samples, self.speed(index)), self.record.sample_rate_hz)


def _guessed(result: SegmentResult, planned: PlanSegment) -> tuple[str, ...]:
    """Without words of a pronunciation that the user gave."""
    written = set(_WORD.findall(planned.written))
    return tuple(word for word in result.guessed if written.issuperset(_WORD.findall(word)))


def shown_attempt(tried: StoredAttempt) -> TriedAttempt:
    return TriedAttempt(attempt=tried.number, **asdict(tried))


def _sentences(planned: PlanSegment, span: TimeSpan | None) -> tuple[Sentence, ...]:
    found = planned.sentences
    alone = span if len(found) == 1 else None
    return tuple(
        Sentence(
            id=sentence_id(planned.index, number),
            text=sentence.written,
            spoken=sentence.spoken,
            start_s=round(alone.start_s, 3) if alone else None,
            duration_s=round(alone.duration_s, 3) if alone else None,
        )
        for number, sentence in enumerate(found)
    )
