"""One stream of blocks into a file for each chapter, one after the other: one encoder is open, of however many."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rhapsode.contract.jobs.output import OutputFormat
from storage.audio.description import Description, Track
from storage.audio.wav import BYTES_PER_SAMPLE
from storage.jobs.chapter_files import ChapterFile, file_name, object_name
from storage.objects.store import StoredObject
from storage.segments.timeline import Placed
from worker.assembly.audio.audio_files import audio_file
from worker.assembly.audio.sound import num_output_samples
from worker.assembly.narration import AssembledNarration

CONTENT_FORMAT = 1
"""Another one makes all files of chapters again."""

Kept = Mapping[int, ChapterFile]
"""Files that are there already, by the numbers of their chapters."""

Put = Callable[[str, Iterator[bytes]], StoredObject]
"""Stores pieces under the name of an object."""


@dataclass(frozen=True, slots=True)
class ChapterCut:
    """A chapter's stretch of what goes into the files. title: "" if the text has none. num_samples: of the output."""

    number: int
    title: str
    placed: Sequence[Placed]
    num_samples: int


@dataclass(frozen=True, slots=True)
class FileSeries:
    """What all files of chapters of a narration have in common. description: of the whole."""

    cuts: Sequence[ChapterCut]
    sample_rate_hz: int
    description: Description

    def make(
        self, form: OutputFormat, blocks: Iterable[bytes], put: Put, kept: Kept, skipped: Container[int]
    ) -> list[ChapterFile]:
        """A stored file for each chapter. blocks: the samples of all but the skipped ones; all are taken."""
        cutter = Cutter(blocks)
        files = [
            kept[cut.number] if cut.number in skipped else self._file(form, cut, cutter, put, kept) for cut in self.cuts
        ]
        cutter.finish()
        return files

    def content(self, form: OutputFormat, cut: ChapterCut, heard: str) -> str:
        """A digest of what a chapter's file is made from. heard: whether one of its samples is audible."""
        described = self._description(cut)
        cover = described.cover and hashlib.sha256(described.cover.data).hexdigest()
        facts = [CONTENT_FORMAT, form.model_dump(mode="json"), self.sample_rate_hz, heard, cut.title]
        told = [described.tags.model_dump(mode="json"), cut.number, len(self.cuts), cover]
        return hashlib.sha256(json.dumps([*facts, *told]).encode()).hexdigest()

    def _description(self, cut: ChapterCut) -> Description:
        title = cut.title or self.description.tags.title
        return self.description.of_chapter(title, Track(cut.number, len(self.cuts)))

    def _file(self, form: OutputFormat, cut: ChapterCut, cutter: Cutter, put: Put, kept: Kept) -> ChapterFile:
        blocks = cutter.take(cut.num_samples * BYTES_PER_SAMPLE)
        if cut.number in kept:
            deque(blocks, 0)
            return kept[cut.number]
        total, name, description = len(self.cuts), object_name(cut.number, form.type), self._description(cut)
        stored = put(name, audio_file(form, self.sample_rate_hz, cut.num_samples, description, blocks))
        return ChapterFile(
            cut.number,
            cut.title,
            file_name(cut.number, total, cut.title, form.type),
            name,
            stored.bytes,
            stored.sha256,
            cut.num_samples / self.sample_rate_hz,
        )


class Cutter:
    """Blocks cut elsewhere than they come."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = iter(blocks)
        self._rest = b""

    def take(self, num_bytes: int) -> Iterator[bytes]:
        """The next so many bytes; to be used up before the next call."""
        while num_bytes:
            block = self._rest or next(self._blocks, None)
            if block is None:
                raise ValueError(f"{num_bytes} bytes are missing at the end")
            piece, self._rest = block[:num_bytes], block[num_bytes:]
            num_bytes -= len(piece)
            yield piece

    def finish(self) -> None:
        """Takes what is behind the last file, which is nothing."""
        left = len(self._rest) + sum(map(len, self._blocks))
        if left:
            raise ValueError(f"{left} bytes are left behind the last file")


def chapter_cuts(narration: AssembledNarration, rate_hz: int, title: str, *, apart: bool) -> tuple[ChapterCut, ...]:
    """Where a chapter's first segment begins, its file does. rate_hz: of the output. title: of a text without chapters.
    apart: whether chapters have files; the whole is one cut otherwise.

    Each has its own number of samples, wherever it begins: what comes before it changes nothing in its file. Pure.
    """
    chapters, placed = narration.plan.chapters if apart else (), narration.placed
    titles = [chapter.title for chapter in chapters] or [title]
    firsts = [0, *(chapter.first_segment for chapter in chapters[1:]), len(placed)]
    return tuple(
        ChapterCut(number, title, stretch, num_output_samples(num_spoken, narration.sample_rate_hz, rate_hz))
        for number, (title, (first, end)) in enumerate(zip(titles, pairwise(firsts), strict=True), 1)
        for stretch in [placed[first:end]]
        for num_spoken in [sum(each.num_head + each.num_samples + each.num_gap for each in stretch)]
    )
