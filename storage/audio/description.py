"""What an audio file says of itself, in the words of each format. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from rhapsode.contract.jobs.output import AudioFormat, Tags
from storage.audio.cover import Cover, picture_comment
from storage.segments.timeline import ChapterSpan

CHAPTERS_AS_COMMENTS = frozenset({AudioFormat.FLAC, AudioFormat.OPUS})
"""Formats whose chapters are comments that we write: FFmpeg writes none into FLAC, and rounds their seconds in Ogg."""


@dataclass(frozen=True, slots=True)
class Description:
    """tags: empty ones are left out. language: as the document names it, "" if it does not."""

    tags: Tags = field(default_factory=Tags)
    language: str = ""
    chapters: tuple[ChapterSpan, ...] = ()
    cover: Cover | None = None


def metadata(form: AudioFormat, description: Description) -> dict[str, str]:
    """By FFmpeg's names. The narrator stands where audiobook players look for one: in the composer's place."""
    tags = description.tags
    named = {
        "title": tags.title,
        "artist": tags.author,
        "composer": tags.narrator,
        "album": tags.album or tags.title,
        "genre": tags.genre,
        "date": tags.date,
        "publisher": tags.publisher,
        "copyright": tags.copyright,
        "description": tags.description,
        "language": description.language,
    }
    if form in CHAPTERS_AS_COMMENTS:
        named |= chapter_comments(description.chapters)
    if form is AudioFormat.OPUS and description.cover is not None:
        named["METADATA_BLOCK_PICTURE"] = picture_comment(description.cover)
    return {name: value for name, value in named.items() if value}


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
