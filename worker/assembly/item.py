"""The story of an assembly: measure, encode, describe, finish, tidy up."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import IO

from reading.drafting.warnings import TextWarning
from reading.languages.names import AUTO_LANGUAGE, language_tag
from rhapsode.contract.jobs.output import Files, LoudnessScope, OutputFormat, Timestamps
from storage.audio.cover import Cover, CoverUnusable, read_cover
from storage.audio.description import Description
from storage.audio.tempo import stretched
from storage.errors import ArtifactMissing
from storage.ids import UploadId
from storage.jobs.chapter_files import CHAPTERS, ChapterFile, encode_chapter_files, list_name
from storage.jobs.record import ArtifactRecord, SpokenBy
from storage.jobs.tickets import Tickets
from storage.jobs.warnings import ASSEMBLY_CODES, COVER_UNUSABLE, LOUDNESS_TARGET_MISSED, QUALITY_UNCALIBRATED
from storage.jobs.work_items import ClaimedItem
from storage.narration.spec import NarrationSpec
from storage.objects import keys
from storage.objects.store import ArtifactStore, StoredObject
from storage.runtime.config.failpoints import failpoint
from storage.segments.file import SegmentHeader
from storage.segments.results import SegmentResult
from storage.segments.timeline import Placed
from worker.assembly.audio.audio_files import audio_file, scratch_bytes
from worker.assembly.audio.chapter_files import ChapterCut, FileSeries, chapter_cuts
from worker.assembly.audio.levels import MeasuredLevel, measure_levels, warnings_of
from worker.assembly.audio.scratch import require_room, scratch_file
from worker.assembly.audio.sound import SoundShaper
from worker.assembly.audio.speaker_levels import amplified, segment_gain_db, speaker_levels
from worker.assembly.chapter_voices import chapter_voices, drift_warnings
from worker.assembly.codes_file import CodesFile
from worker.assembly.earlier import CODES_NAME, MANIFEST_NAME, Earlier, earlier_assembly
from worker.assembly.fan_out import fan_out
from worker.assembly.manifest import AssembledJob, manifest
from worker.assembly.mending import mend_segments
from worker.assembly.narration import AssembledNarration, load_narration
from worker.assembly.reuse import Reuse, ReuseSearch
from worker.assembly.segment_reader import SegmentDamaged, SegmentFetcher
from worker.assembly.timed_text.kept_times import KeptTimes
from worker.assembly.timed_text.subtitles import subtitles
from worker.assembly.timed_text.timestamps import WITH_WORDS, timestamps
from worker.assembly.timed_text.word_times import WordClock
from worker.assembly.unused_files import delete_earlier
from worker.errors import unusable
from worker.items.leases.keeper import HeldLease
from worker.items.leases.persistence import StorePatience, until_available
from worker.services import WorkerServices
from worker.speech.audio.room_tone import RoomTone
from worker.speech.audio.samples import Samples, from_bytes, to_bytes
from worker.speech.audio.segment_audio import SegmentAudio

logger = logging.getLogger(__name__)

TIMESTAMPS_NAME = "timestamps.json"


def run_assembly(item: ClaimedItem, held: HeldLease, services: WorkerServices) -> Tickets:
    """Make every output of the job and finish it; returns the tickets to send.

    A second run makes equal files under its own fence. Files of an earlier run are deleted after the finish, except
    those that stay beside the new ones.
    """
    lease = item.lease
    record = until_available(held, services.jobs.get, lease.tenant, lease.job)
    narration = load_narration(item, record, held, services)
    earlier = until_available(held, earlier_assembly, record.artifacts, services.artifacts)
    reader = SegmentFetcher(lease.tenant, lease.job, narration.sample_rate_hz, services.artifacts, held)
    assembly = Assembly(item, narration, earlier, reader.read_all, services.artifacts, held)
    try:
        made = assembly.make([each for each in record.warnings if each.code not in ASSEMBLY_CODES])
    except SegmentDamaged:
        return mend_segments(item, narration, reader, held, services)
    failpoint("assemble.after_put")
    artifacts = with_kept_files(made.artifacts, record.artifacts)
    finished = until_available(held, services.jobs.finish, lease, artifacts, made.warnings, made.spoken_by)
    failpoint("assemble.after_finish")
    if record.artifacts or item.attempt > 1 or item.suspicions:
        delete_earlier(item, artifacts, services.artifacts)
    logger.info("job finished", extra={"segments": len(narration.placed), "audio_s": round(narration.duration_s, 3)})
    return finished.tickets


@dataclass(frozen=True, slots=True)
class Assembled:
    artifacts: list[ArtifactRecord]
    warnings: list[TextWarning]
    spoken_by: SpokenBy


ReadAll = Callable[[Iterable[SegmentResult]], Iterator[SegmentAudio]]
"""The segments of results, in their order."""


class Assembly:
    """One run of an assembly."""

    def __init__(
        self,
        item: ClaimedItem,
        narration: AssembledNarration,
        earlier: Earlier,
        read_all: ReadAll,
        artifacts: ArtifactStore,
        held: StorePatience,
    ) -> None:
        self._item = item
        self._narration = narration
        self._earlier = earlier
        speakers = speaker_levels(narration.placed, item.narration.voice_of, earlier.speakers)
        self._speakers = {each.name: each for each in speakers}
        self._read_all = read_all
        self._artifacts = artifacts
        self._held = held
        self._output = item.narration.request.output
        self._speech = speech_digest(narration.placed)
        self._rate_hz = self._output.sample_rate or narration.sample_rate_hz
        self._warnings: list[TextWarning] = []
        wants_words = bool(self._output.subtitles) or self._finds_words
        self._clock = WordClock(narration.language, narration.sample_rate_hz) if wants_words else None
        self._timed = KeptTimes(narration.sample_rate_hz)
        room = (narration.sample_rate_hz, self._output.room_tone_db, item.narration.request.seed)
        self._search = ReuseSearch(self._output, self._gain_db, room, earlier)

    def make(self, earlier_warnings: Sequence[TextWarning]) -> Assembled:
        """Every artifact, what the job should be warned of, and what spoke it."""
        levels = self._levels()
        description = self._description()
        apart = any(form.files is Files.CHAPTERS for form in self._output.formats)
        cuts = chapter_cuts(self._narration, self._rate_hz, description.tags.title, apart=apart)
        reuse = self._reuse(cuts, description, levels)
        with self._scratch() as scratch:
            codes = CodesFile(scratch)
            headers: list[SegmentHeader] = []
            made = self._audio(reuse, self._blocks(reuse, levels, headers, codes))
            made += self._texts()
            voices = chapter_voices(self._narration.placed, headers)
            self._warnings += [*uncalibrated(headers), *drift_warnings(voices)]
            first = headers[0]
            if codes.has_codes:
                made.append(self._put(CODES_NAME, "codes", codes.pieces(first.model, first.revision)))
            all_warnings = (*earlier_warnings, *self._warnings)
            speakers = tuple(self._speakers.values())
            facts = AssembledJob(
                headers, levels, speakers, voices, tuple(made), reuse.made, all_warnings, codes, self._rate_hz
            )
            made.append(self._put(MANIFEST_NAME, "manifest", manifest(self._item, self._narration, facts)))
        return Assembled(made, self._warnings, spoken_by(self._item, headers))

    def _scratch(self) -> AbstractContextManager[IO[bytes]]:
        """Where codec frames wait until their number is known."""
        return scratch_file()

    def _levels(self) -> tuple[MeasuredLevel, ...]:
        target = self._output.loudness
        if target is None or target.scope is LoudnessScope.SEGMENT:
            return ()
        narration, known = self._narration, self._search.level
        levels = measure_levels(narration.placed, narration.sample_rate_hz, target, self._heard_all, known)
        self._warnings += [TextWarning(LOUDNESS_TARGET_MISSED, detail) for detail in warnings_of(levels, target)]
        return levels

    def _description(self) -> Description:
        plan, tags = self._narration.plan, self._output.tags
        told = {name: getattr(tags, name) or getattr(plan, name) for name in ("title", "author", "publisher", "date")}
        language = tags.language or plan.language or spoken_language(self._item.narration)
        tags = tags.model_copy(update=told | {"language": language})
        return Description(tags, self._narration.chapters, self._cover())

    def _cover(self) -> Cover | None:
        """The caller's, which was looked at when it came, or the document's."""
        upload, lease = self._output.cover, self._item.lease
        if upload is not None:
            return self._usable_cover(keys.cover(lease.tenant, lease.job, UploadId(upload)), "the cover")
        key = self._narration.plan.cover_key
        return None if key is None else self._usable_cover(key, "the document's cover")

    def _usable_cover(self, key: str, name: str) -> Cover | None:
        try:
            return read_cover(until_available(self._held, self._artifacts.get, key))
        except ArtifactMissing:
            why = "it is not in the store any more"
        except CoverUnusable as error:
            why = str(error)
        self._warnings.append(TextWarning(COVER_UNUSABLE, f"{name} was left out: {why}"))
        return None

    def _reuse(self, cuts: Sequence[ChapterCut], description: Description, levels: Sequence[MeasuredLevel]) -> Reuse:
        series = FileSeries(cuts, self._rate_hz, description)
        # An assembly of the same speech again reads all of it: it finds what the store has lost.
        skips = self._clock is None and self._earlier.speech != self._speech
        return self._search.reuse(series, levels, self._narration.placed, self._copied, skips=skips)

    def _copied(self, file: ChapterFile, key: str) -> None:
        self._held.check()
        self._artifacts.copy(key, keys.artifact(self._item.lease, file.object, self._output.destination))

    def _blocks(
        self, reuse: Reuse, levels: Sequence[MeasuredLevel], headers: list[SegmentHeader], codes: CodesFile
    ) -> Iterator[bytes]:
        """The samples of the output; segments leave headers, frames and word times behind as they go by."""
        from_hz = self._narration.sample_rate_hz
        to_read = (each for cut in reuse.series.cuts if cut.number not in reuse.skipped for each in cut.placed)
        segments = self._read_all(each.result for each in to_read)
        for cut in reuse.series.cuts:
            if cut.number in reuse.skipped:
                self._skip(cut.placed, headers, codes)
                continue
            shaper = SoundShaper(from_hz, self._rate_hz, cut.num_samples, levels, self._room_tone())
            for placed in cut.placed:
                segment = next(segments)
                headers.append(segment.header)
                codes.add(segment.codes)
                if self._clock is not None:
                    self._timed.keep(placed, self._clock.times(placed, segment.pcm))
                yield from shaper.gap(placed.num_head)
                yield shaper.segment(placed.planned.index, self._heard(placed, segment.pcm))
                yield from shaper.gap(placed.num_gap)
            yield shaper.end()

    def _skip(self, stretch: Sequence[Placed], headers: list[SegmentHeader], codes: CodesFile) -> None:
        """What a stretch leaves behind that is not read again."""
        rows, first = self._earlier.rows, stretch[0].planned.index
        headers += [
            rows[each.planned.index].header(self._item, each, self._narration.sample_rate_hz) for each in stretch
        ]
        for frames in self._earlier.codes(first, first + len(stretch)):
            codes.add(frames)

    def _room_tone(self) -> RoomTone | None:
        level_db = self._output.room_tone_db
        if level_db is None:
            return None
        return RoomTone(level_db, self._rate_hz, self._item.narration.request.seed)

    def _heard_all(self, stretch: Sequence[Placed]) -> Iterator[Samples]:
        segments = self._read_all(each.result for each in stretch)
        return (self._heard(placed, segment.pcm) for placed, segment in zip(stretch, segments, strict=True))

    def _heard(self, placed: Placed, spoken: Samples) -> Samples:
        """A segment's samples as loud and as fast as its speaker and its text want them."""
        rate_hz = self._narration.sample_rate_hz
        spoken = amplified(spoken, self._gain_db(placed), rate_hz)
        if placed.speed == 1:
            return spoken
        return from_bytes(stretched(to_bytes(spoken), rate_hz, placed.speed))

    def _gain_db(self, placed: Placed) -> float:
        speaker = self._speakers[placed.planned.speaker]
        return segment_gain_db(speaker, self._output.loudness, placed.result) + placed.planned.gain_db

    def _audio(self, reuse: Reuse, blocks: Iterator[bytes]) -> list[ArtifactRecord]:
        cuts = reuse.series.cuts
        num_samples = sum(cut.num_samples for cut in cuts)
        require_room(sum(self._scratch_bytes(form, num_samples, cuts) for form in self._output.formats))
        consumers = [self._consumer(form, num_samples, reuse) for form in self._output.formats]
        return fan_out(blocks, consumers, self._held.check)

    def _scratch_bytes(self, form: OutputFormat, num_samples: int, cuts: Sequence[ChapterCut]) -> int:
        """Of a format's one open file."""
        longest = max(cut.num_samples for cut in cuts) if form.files is Files.CHAPTERS else num_samples
        return scratch_bytes(form, self._rate_hz, longest)

    def _consumer(
        self, form: OutputFormat, num_samples: int, reuse: Reuse
    ) -> Callable[[Iterator[bytes]], ArtifactRecord]:
        """What makes the artifact of one format of the blocks that go by."""

        def whole(blocks: Iterator[bytes]) -> ArtifactRecord:
            pieces = audio_file(form, self._rate_hz, num_samples, reuse.series.description, blocks)
            made = self._put(f"narration.{form.type}", form.type.value, pieces)
            return replace(made, duration_s=num_samples / self._rate_hz)

        def in_chapters(blocks: Iterator[bytes]) -> ArtifactRecord:
            files = reuse.series.make(form, blocks, self._stored, reuse.kept[form.type], reuse.skipped)
            made = self._put(list_name(form.type), CHAPTERS, [encode_chapter_files(form.type, files)])
            listed_bytes = sum(file.bytes for file in files)
            return replace(made, duration_s=num_samples / self._rate_hz, listed=len(files), listed_bytes=listed_bytes)

        return in_chapters if form.files is Files.CHAPTERS else whole

    def _texts(self) -> list[ArtifactRecord]:
        output, narration = self._output, self._narration
        made = [
            self._put(f"narration.{form}", form.value, subtitles(form, narration, self._timed, karaoke=output.karaoke))
            for form in output.subtitles
        ]
        if output.timestamps is not Timestamps.OFF:
            rows = timestamps(output.timestamps, narration, self._timed, self._source())
            made.append(self._put(TIMESTAMPS_NAME, "timestamps", rows))
        return made

    @property
    def _finds_words(self) -> bool:
        """Whether times of words are wanted, or only those of marks."""
        level = self._output.timestamps
        return level in WITH_WORDS or (level is not Timestamps.OFF and bool(self._narration.plan.marks))

    def _source(self) -> str:
        """The text that offsets refer to, if words are to be found in it."""
        if not self._finds_words:
            return ""
        key = self._narration.plan.text_key or self._item.input_key
        try:
            return until_available(self._held, self._artifacts.get, key).decode()
        except ArtifactMissing as error:
            raise unusable("internal", "the job's text is not in the store any more") from error

    def _put(self, name: str, kind: str, pieces: Iterable[bytes]) -> ArtifactRecord:
        stored = self._stored(name, pieces)
        return ArtifactRecord(name, kind, stored.key, stored.bytes, stored.sha256, speech=self._speech)

    def _stored(self, name: str, pieces: Iterable[bytes]) -> StoredObject:
        return self._written(keys.artifact(self._item.lease, name, self._output.destination), pieces)

    def _written(self, key: str, pieces: Iterable[bytes]) -> StoredObject:
        return self._artifacts.put_stream(key, self._wanted(pieces))

    def _wanted(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The same as long as anybody wants them: an upload may take minutes."""
        for piece in pieces:
            self._held.check()
            yield piece


def spoken_by(item: ClaimedItem, headers: Sequence[SegmentHeader]) -> SpokenBy:
    """What spoke the job, as far as its segments agree; where they differ, the manifest tells them apart. Pure."""
    revision = _only(header.revision for header in headers)
    own_voice = item.narration.own_voice
    return SpokenBy(
        model_revision=revision,
        voice_cache=own_voice.content(item.lease.tenant, revision) if own_voice and revision else None,
        config_sha256=_only(header.config_sha256 for header in headers),
    )


def spoken_language(spec: NarrationSpec) -> str:
    """The tag of the job's language, or of the only one that its model speaks; "" if that is not known. Pure."""
    asked = spec.request.language
    only = spec.languages[0] if asked == AUTO_LANGUAGE and len(spec.languages) == 1 else asked
    return language_tag(only)


def _only(values: Iterable[str]) -> str | None:
    """What all of them are; None also if it is not known of one of them."""
    found = set(values)
    return next(iter(found)) or None if len(found) == 1 else None


def uncalibrated(headers: Sequence[SegmentHeader]) -> list[TextWarning]:
    """A warning about segments that were checked without typical durations. Pure."""
    judged = [header for header in headers if "speech_s" in header.checks]
    unknown = sum("duration_ratio" not in header.checks for header in judged)
    if not unknown:
        return []
    detail = (
        f"{unknown} of {len(judged)} segments were checked without typical durations of this model and language. Cut "
        "or overlong speech is found only by comparison within the job. `rhapsode calibrate` measures the durations."
    )
    return [TextWarning(QUALITY_UNCALIBRATED, detail)]


def speech_digest(placed: Iterable[Placed]) -> str:
    """A digest of the audio before encoding: equal digests mean equal text, voice and pace. Pure."""
    heard = hashlib.sha256()
    for each in placed:
        speed = "" if each.speed == 1 else f" {each.speed}"
        head = f" head {each.num_head}" if each.num_head else ""
        heard.update(f"{each.result.sha256} {each.num_gap}{speed}{head}\n".encode())
    return heard.hexdigest()[:32]


def with_kept_files(made: Sequence[ArtifactRecord], earlier: Sequence[ArtifactRecord]) -> list[ArtifactRecord]:
    """What was made now, and after it what was made of the same speech under names that are not made again. Pure.

    A file of another speech (a segment was edited, or spoken again) goes: beside the new ones it would say what is
    not so any more.
    """
    names = {artifact.name for artifact in made}
    speeches = {artifact.speech for artifact in made}
    return [*made, *(each for each in earlier if each.name not in names and each.speech in speeches)]
