"""Which chapters are as they were in the assembly before: their files are copied, and nothing of them is read again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from rhapsode.contract.jobs.output import Files, Output, OutputFormat
from storage.errors import ArtifactMissing
from storage.jobs.chapter_files import ChapterFile
from storage.segments.timeline import Placed
from worker.assembly.audio.chapter_files import FileSeries, Kept
from worker.assembly.audio.levels import MeasuredLevel
from worker.assembly.earlier import Earlier, Made

GainDb = Callable[[Placed], float]


@dataclass(frozen=True, slots=True)
class Reuse:
    """kept: for each format the copied files. skipped: chapters of which nothing is read. made: for the next one."""

    series: FileSeries
    kept: Mapping[str, Kept]
    skipped: frozenset[int]
    made: Made


@dataclass(frozen=True, slots=True)
class ReuseSearch:
    """What is taken of the assembly before. gain_db: of a segment, before its level. facts: of all files."""

    output: Output
    gain_db: GainDb
    facts: Sequence[object]
    earlier: Earlier

    def level(self, stretch: Sequence[Placed]) -> MeasuredLevel | None:
        """What was measured of the same speech for the same target."""
        known = self.earlier.made.levels.get(self._speech(stretch, self.output.loudness))
        first, end = stretch[0].planned.index, stretch[-1].planned.index + 1
        return known and replace(known, first_segment=first, end_segment=end)

    def reuse(
        self,
        series: FileSeries,
        levels: Sequence[MeasuredLevel],
        placed: Sequence[Placed],
        copied: Callable[[ChapterFile, str], None],
        *,
        skips: bool,
    ) -> Reuse:
        """copied: copies a file that has this key. skips: whether segments need not be read."""
        levelled = {index: each for each in levels for index in range(each.first_segment, each.end_segment)}
        contents: dict[str, tuple[str, ...]] = {}
        kept: dict[str, Kept] = {}
        heard = [self._heard(cut.placed, levelled) for cut in series.cuts]
        for form in self.output.formats:
            if form.files is Files.CHAPTERS:
                contents[form.type] = tuple(
                    series.content(form, *pair) for pair in zip(series.cuts, heard, strict=True)
                )
                kept[form.type] = self._kept(form, contents[form.type], copied)
        is_read = not skips or not self.earlier.rows or len(kept) < len(self.output.formats)
        skipped = frozenset[int]() if is_read else frozenset.intersection(*map(frozenset, kept.values()))
        measured = {
            self._speech(placed[each.first_segment : each.end_segment], self.output.loudness): each for each in levels
        }
        return Reuse(series, kept, skipped, Made(measured, contents))

    def _kept(self, form: OutputFormat, contents: Sequence[str], copied: Callable[[ChapterFile, str], None]) -> Kept:
        files: dict[int, ChapterFile] = {}
        try:
            earlier = self.earlier.files(form.type)
            for number, content in enumerate(contents, 1):
                if content in earlier:
                    file, key = earlier[content]
                    copied(file, key)
                    files[number] = file
        except ArtifactMissing:
            # What the store has lost is made again.
            return files
        return files

    def _heard(self, stretch: Sequence[Placed], levelled: Mapping[int, MeasuredLevel]) -> str:
        levels = [levelled.get(each.planned.index) for each in stretch]
        return self._speech(stretch, [(each.gain_db, each.ceiling_db) if each else None for each in levels])

    def _speech(self, stretch: Sequence[Placed], more: object) -> str:
        """A digest of what is said in a stretch, how loud, and of something more."""
        said = [(each.result.sha256, each.num_head, each.num_gap, each.speed, self.gain_db(each)) for each in stretch]
        return hashlib.sha256(repr([self.facts, said, more]).encode()).hexdigest()
