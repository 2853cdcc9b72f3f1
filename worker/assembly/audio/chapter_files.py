"""One stream of blocks into a file for each chapter, one after the other: one encoder is open, of however many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from rhapsode.contract.jobs.output import OutputFormat
from storage.audio.description import Description, Track
from storage.audio.encoding import BYTES_PER_SAMPLE
from storage.jobs.chapter_files import ChapterFile, file_name, object_name
from storage.objects.store import StoredObject
from storage.segments.timeline import Placed
from worker.assembly.audio.audio_files import audio_file
from worker.assembly.audio.sound import num_output_samples
from worker.assembly.narration import AssembledNarration

Put = Callable[[str, Iterator[bytes]], StoredObject]
"""Stores pieces under the name of an object."""


@dataclass(frozen=True, slots=True)
class ChapterCut:
    """A chapter's stretch of the samples that go into the files. title: "" if the text has none."""

    number: int
    title: str
    num_samples: int


@dataclass(frozen=True, slots=True)
class FileSeries:
    """What all files of chapters of a narration have in common. description: of the whole."""

    cuts: Sequence[ChapterCut]
    sample_rate_hz: int
    description: Description

    def make(self, form: OutputFormat, blocks: Iterable[bytes], put: Put) -> list[ChapterFile]:
        """A stored file for each chapter. blocks: the samples of the whole, all of which are taken."""
        cutter = Cutter(blocks)
        files = [self._file(form, cut, cutter, put) for cut in self.cuts]
        cutter.finish()
        return files

    def _file(self, form: OutputFormat, cut: ChapterCut, cutter: Cutter, put: Put) -> ChapterFile:
        total, name = len(self.cuts), object_name(cut.number, form.type)
        description = self.description.of_chapter(cut.title or self.description.tags.title, Track(cut.number, total))
        blocks = cutter.take(cut.num_samples * BYTES_PER_SAMPLE)
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


def chapter_cuts(narration: AssembledNarration, rate_hz: int, title: str) -> tuple[ChapterCut, ...]:
    """Where a chapter's first segment begins, its file does. rate_hz: of the output. title: of a text without chapters.

    Pure.
    """
    chapters, placed = narration.plan.chapters, narration.placed
    titles = [chapter.title for chapter in chapters] or [title]
    starts = [0, *(_start(placed[chapter.first_segment], narration, rate_hz) for chapter in chapters[1:])]
    ends = [*starts[1:], num_output_samples(narration.num_samples, narration.sample_rate_hz, rate_hz)]
    return tuple(
        ChapterCut(number, title, end - start)
        for number, (title, start, end) in enumerate(zip(titles, starts, ends, strict=True), 1)
    )


def _start(placed: Placed, narration: AssembledNarration, rate_hz: int) -> int:
    return num_output_samples(placed.start - placed.num_head, narration.sample_rate_hz, rate_hz)
