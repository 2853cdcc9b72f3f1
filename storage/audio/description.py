"""What an audio file says of itself, in the words of each format. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rhapsode.contract.jobs.output import AudioFormat, Tags
from storage.audio.cover import Cover, picture_comment
from storage.audio.language_codes import three_letters
from storage.audio.mp4_freeform import stand_ins
from storage.segments.timeline import ChapterSpan

WITH_COMMENTS = frozenset({AudioFormat.FLAC, AudioFormat.OPUS})
"""Formats whose tags are comments. Chapters are some that we write: FFmpeg writes none into FLAC, and rounds their
seconds in Ogg."""


@dataclass(frozen=True, slots=True)
class Track:
    number: int
    total: int


@dataclass(frozen=True, slots=True)
class Description:
    """tags: empty ones are left out. track: of one of many."""

    tags: Tags = field(default_factory=Tags)
    chapters: tuple[ChapterSpan, ...] = ()
    cover: Cover | None = None
    track: Track | None = None

    def of_chapter(self, title: str, track: Track) -> Description:
        """Of the file of one chapter: the whole is the album that it belongs to."""
        tags = self.tags.model_copy(update={"title": title, "album": self.tags.album or self.tags.title})
        return replace(self, tags=tags, chapters=(), track=track)


def metadata(form: AudioFormat, description: Description) -> dict[str, str]:
    """By FFmpeg's names. The narrator stands where audiobook players look for one: in the composer's place."""
    tags = description.tags
    named = {
        "title": tags.title,
        "artist": tags.author,
        "composer": tags.narrator,
        "album": tags.album or ("" if description.track else tags.title),
        "genre": tags.genre,
        "date": tags.date,
        "copyright": tags.copyright,
        "description": tags.description,
        "language": tags.language if form in WITH_COMMENTS else three_letters(tags.language),
    }
    named |= stand_ins(freeform(tags)) if form is AudioFormat.M4B else _more(tags)
    if description.track is not None:
        named |= _track_tags(form, description.track)
    if form in WITH_COMMENTS:
        named |= chapter_comments(description.chapters)
    if form is AudioFormat.OPUS and description.cover is not None:
        named["METADATA_BLOCK_PICTURE"] = picture_comment(description.cover)
    return {name: value for name, value in named.items() if value}


def freeform(tags: Tags) -> dict[str, str]:
    """What M4B stores under names that only it knows."""
    return {name.upper(): value for name, value in _more(tags).items() if value}


def _more(tags: Tags) -> dict[str, str]:
    """As players of audiobooks look for them, in comments and in ID3's frames of free choice."""
    return {"publisher": tags.publisher, "ISBN": tags.isbn, "SERIES": tags.series, "SERIES-PART": tags.series_part}


def _track_tags(form: AudioFormat, track: Track) -> dict[str, str]:
    if form in WITH_COMMENTS:
        return {"TRACKNUMBER": str(track.number), "TRACKTOTAL": str(track.total)}
    return {"track": f"{track.number}/{track.total}"}


def chapter_comments(chapters: tuple[ChapterSpan, ...]) -> dict[str, str]:
    """CHAPTERnnn=HH:MM:SS.mmm and CHAPTERnnnNAME, as players read them."""
    comments: dict[str, str] = {}
    for number, chapter in enumerate(chapters):
        comments[f"CHAPTER{number:03d}"] = clock(chapter.span.start_s, ".")
        comments[f"CHAPTER{number:03d}NAME"] = chapter.title
    return comments


def clock(seconds: float, decimal_mark: str) -> str:
    """HH:MM:SS and milliseconds; hours grow beyond two digits."""
    minutes, milliseconds = divmod(round(seconds * 1000), 60_000)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{milliseconds // 1000:02d}{decimal_mark}{milliseconds % 1000:03d}"
