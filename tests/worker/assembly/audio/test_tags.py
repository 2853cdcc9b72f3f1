"""Metadata and cover of the caller's, read from each format by another program's reader."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from collections.abc import Callable

import av
import pytest
from mutagen.flac import FLAC, Picture
from mutagen.id3 import ID3
from mutagen.mp4 import MP4
from mutagen.oggopus import OggOpus

from reading.plan.plan import Chapter
from rhapsode.contract.jobs.output import AudioFormat, Files, Output, OutputFormat, Tags
from storage.ids import UploadId
from storage.jobs.record import JobRecord
from storage.jobs.work_queues import CPU_QUEUE
from storage.objects import keys
from tests.worker.assembly.audio.test_formats import jpeg
from tests.worker.assembly.studio import Book, assemble, content, submit_book, voice_like
from tests.worker.studio import SPEC, TENANT, Studio

TAGS = Tags(
    title="Moby-Dick; or, The Whale",
    author="Herman Melville",
    publisher="Presse à l'Œuvre",
    isbn="978-0-14-243724-7",
    language="en-US",
    series="Seafaring 海",
    series_part="2",
)
FORMS = (AudioFormat.MP3, AudioFormat.FLAC, AudioFormat.OPUS, AudioFormat.M4B)
FORMATS = tuple(OutputFormat(type=form) for form in FORMS)
BOOK = Book(
    [voice_like(0.4, 0.2, 1), voice_like(0.5, 0.3, 2)],
    (0.3, 0.0),
    (Chapter("One", 0), Chapter("Two", 1)),
    title="The document's",
    publisher="The document's",
    cover=jpeg(),
)
UPLOAD = UploadId("upl_01m80784j05b6jp6sa8yyjk52f")
FREEFORM = "----:com.apple.iTunes:"


def png(side: int) -> bytes:
    """Noise, so that it is as large as it looks."""
    rows = b"".join(b"\0" + bytes((x * y * 7919 + y) % 251 for x in range(3 * side)) for y in range(side))
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows, 0)),
        (b"IEND", b""),
    )
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


def assembled(studio: Studio, output: Output, cover: bytes) -> JobRecord:
    job = submit_book(studio, BOOK, output)
    studio.artifacts.put(keys.cover(TENANT, job.id, UPLOAD), cover)
    studio.run_one(CPU_QUEUE)
    return studio.record(job)


@pytest.fixture
def read(studio: Studio) -> Callable[[JobRecord, str], io.BytesIO]:
    return lambda record, form: io.BytesIO(content(studio, record, f"narration.{form}"))


def test_every_format_has_the_callers_words_and_its_cover(
    studio: Studio, read: Callable[[JobRecord, str], io.BytesIO]
) -> None:
    cover = png(600)
    made = assembled(studio, Output(formats=FORMATS, tags=TAGS, cover=UPLOAD), cover)
    assert [each.code for each in made.warnings] == []
    assert len(cover) > 1_000_000

    mp3 = ID3(read(made, "mp3"))
    told = ("TIT2", "TALB", "TPE1", "TPUB", "TLAN", "TXXX:ISBN", "TXXX:SERIES", "TXXX:SERIES-PART")
    words = (TAGS.title, TAGS.title, TAGS.author, TAGS.publisher, "eng", TAGS.isbn, TAGS.series, TAGS.series_part)
    assert tuple(str(mp3[name]) for name in told) == words
    assert mp3.getall("APIC")[0].data == cover

    m4b = MP4(read(made, "m4b"))
    assert (m4b["\xa9nam"], m4b["\xa9ART"]) == ([TAGS.title], [TAGS.author])
    freeform = {name: m4b[f"{FREEFORM}{name}"][0].decode() for name in ("PUBLISHER", "ISBN", "SERIES", "SERIES-PART")}
    assert tuple(freeform.values()) == (TAGS.publisher, TAGS.isbn, TAGS.series, TAGS.series_part)
    assert not {"tvsh", "tven", "tvnn", "\xa9grp"} & set(m4b.keys())
    assert (bytes(m4b["covr"][0]), m4b["covr"][0].imageformat) == (cover, 14)
    with av.open(read(made, "m4b"), mode="r") as container:
        assert container.streams.audio[0].metadata["language"] == "eng"
        assert sum(frame.samples for frame in container.decode(audio=0)) > 0

    flac, opus = FLAC(read(made, "flac")), OggOpus(read(made, "opus"))
    for comments in (flac, opus):
        names = ("title", "publisher", "isbn", "series", "series-part", "language")
        words = (TAGS.title, TAGS.publisher, TAGS.isbn, TAGS.series, TAGS.series_part, "en-US")
        assert tuple(comments[name][0] for name in names) == words
    assert flac.pictures[0].data == cover
    assert Picture(base64.b64decode(opus["metadata_block_picture"][0])).data == cover


def test_without_a_word_the_language_is_the_documents_or_the_jobs(
    studio: Studio, read: Callable[[JobRecord, str], io.BytesIO]
) -> None:
    """The studio's documents are English; the files of chapters have the cover too, and the book as their album."""
    chapters = OutputFormat(type=AudioFormat.M4B, files=Files.CHAPTERS)
    made = assemble(studio, BOOK, Output(formats=(OutputFormat(type=AudioFormat.M4B), chapters)))

    with av.open(read(made, "m4b"), mode="r") as container:
        assert container.streams.audio[0].metadata["language"] == "eng"
    listing = next(each for each in made.artifacts if each.type == "chapters")
    second = MP4(io.BytesIO(studio.artifacts.get(f"{listing.key.rpartition('/')[0]}/chapter-0002.m4b")))
    assert (second["\xa9nam"], second["\xa9alb"]) == (["Two"], ["The document's"])
    assert bytes(second["covr"][0]) == BOOK.cover


def test_a_book_without_a_title_is_no_album_of_its_chapters(studio: Studio) -> None:
    book = Book(BOOK.pcm, BOOK.pauses_s, BOOK.chapters)
    made = assemble(studio, book, Output(formats=(OutputFormat(type=AudioFormat.MP3, files=Files.CHAPTERS),)))

    listing = next(each for each in made.artifacts if each.type == "chapters")
    first = ID3(io.BytesIO(studio.artifacts.get(f"{listing.key.rpartition('/')[0]}/chapter-0001.mp3")))
    assert (str(first["TIT2"]), "TALB" in first) == ("One", False)


def test_a_cover_that_the_store_has_lost_is_a_warning(studio: Studio) -> None:
    job = submit_book(studio, BOOK, Output(cover=UPLOAD), SPEC)
    studio.run_one(CPU_QUEUE)

    [warning] = studio.record(job).warnings
    assert (warning.code, warning.detail) == (
        "cover_unusable",
        "the cover was left out: it is not in the store any more",
    )
