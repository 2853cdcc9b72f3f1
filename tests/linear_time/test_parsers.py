"""Whatever reads what strangers send takes time that grows with it, not with the square of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from api.http.cursors import decode_cursor
from api.http.idempotency_key import idempotency_key
from api.http.json_body import check_bounds, parse_json
from api.http.problems.problem import HttpProblem
from api.jobs.answers.segment_ids import segment_index
from api.jobs.answers.waiting import requested_wait_s
from api.jobs.segments.audio_routes import choose_format
from api.jobs.submission.submission import parse_job_request
from api.openai.orders import parse_wish
from api.openai.socket.incoming_text import IncomingText
from reading.cleaning.cleaning import find_litter
from reading.cleaning.parted_words import find_divided, find_lost_apostrophes
from reading.dialogue.attribution import propose_speakers
from reading.documents.by_format import read_document
from reading.documents.characters import clean_text, decode_markup, decode_text
from reading.documents.html_document import html_script
from reading.documents.markdown_document import markdown_script
from reading.documents.markup import parse_html, parse_xhtml, parse_xml
from reading.documents.plain.paragraphs import read_paragraphs
from reading.documents.plain.plays import play_script
from reading.documents.plain.text_document import find_remarks, text_script
from reading.documents.plain.transcribers import find_transcribers_notes
from reading.drafting.draft import plain_text_script
from reading.drafting.languages import wrong_language
from reading.estimates import expected_audio_ms, speech_units
from reading.languages.writing_systems import count_foreign, find_foreign
from reading.plan.plan import decode_plan
from reading.script.dialogue import dialogue_script
from reading.script.entries import decode_entries
from reading.script.lenient_ssml import Abilities, lenient_script
from reading.script.prosody import gain_of, rate_of
from reading.script.script import plain_script
from reading.script.ssml import parse_ssml
from reading.segmenting.lengths import LengthRules
from reading.segmenting.segmentation import plan_segments
from reading.segmenting.sentences import sentences
from reading.spelling.normalizers import NORMALIZERS
from reading.spelling.respelling import Lexicon
from reading.spelling.rules import PronunciationRule, decode_rules
from rhapsode.bench.server.connections import pieces_of
from rhapsode.bench.server.listening import Onset, RequestFailed, WavStream
from rhapsode.contract.jobs.input import DocumentFormat, Images, Pauses
from rhapsode.contract.jobs.narration import Narration
from rhapsode.contract.openai import MAX_INPUT_CHARS
from rhapsode.contract.pronunciations import check_grapheme
from rhapsode.contract.speakable_text import check_label, check_prose, check_spoken_text
from rhapsode.contract.voices.names import check_voice_name
from rhapsode.contract.words import MAX_WORD_CHARS, find_long_word
from rhapsode.errors import RhapsodeError
from rhapsode.stack.errors import StackError
from rhapsode.stack.planning.devices import parse_devices
from rhapsode.webhooks import verify
from storage.ids import JOB_ID
from storage.job_store.following.event import check_event_id
from storage.jobs.batch_lines import decode_shard
from storage.live.messages import decode_from_worker, decode_to_worker
from storage.narration.spec import NarrationSpec
from storage.objects.key_rules import KeyRefused, check_folder, check_key, check_prefix
from storage.pronunciations.dictionaries import parse_reference
from storage.pronunciations.pls import parse_pls
from storage.runtime.config.sentinel_url import parse_sentinel_url
from storage.runtime.config.settings import check_address
from storage.runtime.observability.redaction import Redaction
from storage.tenants.rate_limits import parse_limit
from tests.linear_time.runs import PAIRS, UNITS, steep
from worker.errors import PermanentItemError
from worker.speech.alignment.words import AlignedWord, words_of
from worker.speech.alignment.written import even_time, written_times
from worker.speech.quality.words.spelling import spoken_words

NARRATION = NarrationSpec(Narration(model="small", voice="alice"))
ROOT = Path(__file__).resolve().parents[2]
REFUSALS = (ValueError, RecursionError, PermanentItemError, HttpProblem, RhapsodeError, KeyRefused, StackError)

LEXICON = Lexicon([PronunciationRule("a b", "c"), PronunciationRule("a", "b"), PronunciationRule(".", "dot")])
JOB_HEAD = '{"model": "m", "voice": "v", "input": {"text": "'


def in_words(text: str) -> str:
    """With a blank wherever a word would be longer than any that is divided into sentences."""
    return " ".join(text[at : at + MAX_WORD_CHARS] for at in range(0, len(text), MAX_WORD_CHARS))


def said_otherwise(text: str) -> None:
    """Every other word was said as two that the text has not."""
    written = list(words_of(in_words(text)))
    said = [
        word
        for number, each in enumerate(written)
        for word in ([each] if number % 2 else [AlignedWord(0, 2, "?!")] * 2)
    ]
    everything(written_times(written, said, [even_time(word, 0, 1) for word in said]))


def as_message(text: str) -> bytes:
    """Of live speech, with this for a head."""
    said = text.encode()
    return len(said).to_bytes(4, "little") + said


def as_wav(text: str) -> None:
    """Of chunks before the samples, and byte by byte, as a slow server sends one."""
    stream = WavStream()
    for byte in b"RIFF    WAVE" + b"junk\1\0\0\0x\0" * (len(text) // 10) + text.encode():
        with suppress(RequestFailed):
            stream.take(bytes([byte]))


def as_samples(text: str) -> None:
    """Sample by sample, none of which is heard."""
    onset = Onset(24_000)
    for _ in text:
        onset.take(b"\1\0")


def everything(found: Iterable[object]) -> None:
    for _ in found:
        pass


def taken(pieces: Iterable[str]) -> None:
    text = IncomingText(10**9)
    for piece in pieces:
        text.add(piece)
    text.end()


PARSERS: dict[str, Callable[[str], object]] = {
    "api.jobs.segments.audio_routes.choose_format": choose_format,
    "api.http.cursors.decode_cursor": lambda text: decode_cursor(text, JOB_ID),
    "api.http.idempotency_key.idempotency_key": lambda text: idempotency_key(text, text.encode(), "/"),
    "api.http.json_body.check_bounds": check_bounds,
    "api.http.json_body.parse_json": lambda text: parse_json(text.encode()),
    "api.jobs.answers.waiting.requested_wait_s": requested_wait_s,
    "api.openai.socket.incoming_text.IncomingText": lambda text: taken([text]),
    "api.openai.socket.incoming_text.IncomingText, in letters": lambda text: taken(text[:20_000]),
    "storage.runtime.config.sentinel_url.parse_sentinel_url": parse_sentinel_url,
    "storage.job_store.following.event.check_event_id": check_event_id,
    "rhapsode.bench.server.listening.WavStream": as_wav,
    "rhapsode.bench.server.listening.Onset": as_samples,
    "rhapsode.bench.server.connections.pieces_of": pieces_of,
    "rhapsode.stack.planning.devices.parse_devices": lambda text: parse_devices("--device", text),
    "rhapsode.contract.pronunciations.check_grapheme": check_grapheme,
    "api.jobs.answers.segment_ids.segment_index": segment_index,
    "rhapsode.contract.speakable_text.check_label": check_label,
    "rhapsode.contract.speakable_text.check_prose": check_prose,
    "rhapsode.contract.speakable_text.check_spoken_text": check_spoken_text,
    "api.jobs.submission.submission.parse_job_request": lambda text: parse_job_request(
        f'{JOB_HEAD}{text}"}}}}'.encode(), 10**9
    ),
    "api.openai.orders.parse_wish": lambda text: parse_wish(f'{{"input": "{text}"}}'.encode(), MAX_INPUT_CHARS),
    "rhapsode.contract.voices.names.check_voice_name": check_voice_name,
    "rhapsode.webhooks.verify": lambda text: verify(text.encode(), {"webhook-signature": text}, "whsec_QQ=="),
    "storage.jobs.batch_lines.decode_shard": lambda text: decode_shard(text.encode()),
    "storage.live.messages.decode_from_worker": lambda text: decode_from_worker(as_message(text)),
    "storage.live.messages.decode_to_worker": lambda text: decode_to_worker(as_message(text)),
    "reading.estimates.expected_audio_ms": expected_audio_ms,
    "reading.estimates.speech_units": speech_units,
    "reading.dialogue.attribution.propose_speakers": lambda text: propose_speakers(plain_script(text)),
    "reading.script.dialogue.dialogue_script": lambda text: dialogue_script(text, ["a", "Dr. a"]),
    "reading.script.entries.decode_entries": lambda text: decode_entries(text.encode()),
    "reading.script.lenient_ssml.lenient_script": lambda text: lenient_script(
        f"<speak>{text}<break time='1s'/><a {text}/></speak>", Abilities()
    ),
    "reading.script.prosody.gain_of": lambda text: gain_of(text, 0.0),
    "reading.script.prosody.rate_of": lambda text: rate_of(text, 1.0),
    "reading.script.ssml.parse_ssml": lambda text: parse_ssml(f"<speak>{text}</speak>"),
    "rhapsode.contract.words.find_long_word": find_long_word,
    "reading.languages.writing_systems.count_foreign": lambda text: count_foreign(text, ["japanese"]),
    "reading.languages.writing_systems.find_foreign": lambda text: find_foreign([text], ["russian"]),
    "storage.objects.key_rules.check_folder": check_folder,
    "storage.objects.key_rules.check_key": check_key,
    "storage.objects.key_rules.check_prefix": check_prefix,
    "reading.spelling.rules.decode_rules": lambda text: decode_rules(text.encode()),
    "storage.pronunciations.dictionaries.parse_reference": parse_reference,
    "storage.pronunciations.pls.parse_pls": lambda text: parse_pls(f"<lexicon>{text}</lexicon>".encode()),
    "storage.runtime.config.settings.check_address": check_address,
    "storage.runtime.observability.redaction.Redaction": Redaction(["a-secret-word"]).text,
    "reading.plan.plan.decode_plan": lambda text: decode_plan(text.encode()),
    "storage.tenants.rate_limits.parse_limit": parse_limit,
    "reading.documents.characters.clean_text": clean_text,
    "reading.documents.characters.decode_markup": lambda text: decode_markup(text.encode()),
    "reading.documents.characters.decode_text": lambda text: decode_text(text.encode()),
    "reading.documents.html_document.html_script": lambda text: html_script(text, ()),
    "reading.documents.html_document.html_script, in a tag": lambda text: html_script(f"<p {text}>a", ()),
    "reading.documents.markdown_document.markdown_script": lambda text: markdown_script(text, ()),
    "reading.documents.markdown_document.markdown_script, in front": lambda text: markdown_script(
        f"---\ntitle: '{text}'\n{text}\n---\na", ()
    ),
    "reading.documents.markdown_document.markdown_script, in a note": lambda text: markdown_script(
        f"a[^1]\n\n[^1]: {text}\n", ()
    ),
    "reading.documents.markup.parse_html": lambda text: parse_html(text, "it"),
    "reading.documents.markup.parse_xhtml": lambda text: parse_xhtml(f"<p>{text}</p>", "it"),
    "reading.documents.markup.parse_xml": lambda text: parse_xml(f"<p>{text}</p>", "it"),
    "reading.documents.plain.text_document.text_script": lambda text: text_script(text, ()),
    "reading.documents.plain.text_document.text_script, behind contents": lambda text: text_script(
        f"CONTENTS\n\n{text}\n\nCHAPTER I\n\n{text}", ()
    ),
    "reading.documents.plain.plays.play_script": lambda text: play_script(f"A. b\n\nC. d\n\n{text}" * 9, ("A",)),
    "reading.documents.plain.transcribers.find_transcribers_notes": lambda text: everything(
        find_transcribers_notes(text, read_paragraphs(text))
    ),
    "reading.cleaning.cleaning.find_litter": lambda text: everything(find_litter(text, is_book=True)),
    "reading.cleaning.parted_words.find_lost_apostrophes": lambda text: everything(find_lost_apostrophes(text)),
    "reading.cleaning.parted_words.find_divided": lambda text: everything(find_divided(text)),
    "reading.documents.plain.text_document.find_remarks": lambda text: everything(find_remarks(text, Images.SKIP)),
    "reading.documents.by_format.read_document": lambda text: read_document(text.encode(), DocumentFormat.TEXT),
    "worker.speech.alignment.words.words_of": lambda text: everything(words_of(text)),
    "worker.speech.alignment.written.written_times": lambda text: said_otherwise(text),
    "worker.speech.quality.words.spelling.spoken_words": spoken_words,
    "reading.spelling.respelling.Lexicon": lambda text: everything(LEXICON(text, 0, len(text))),
    "reading.drafting.draft.plain_text_script": lambda text: plain_text_script(text, NARRATION),
    "reading.segmenting.segmentation.plan_segments": lambda text: plan_segments(
        in_words(text), LengthRules(), Pauses()
    ),
    "reading.segmenting.sentences.sentences": lambda text: everything(sentences(in_words(text), 0, len(text))),
    "reading.drafting.languages.wrong_language": lambda text: wrong_language(text, ["english"]),
    **{
        f"reading.numbers, {name}": lambda text, rules=rules: everything(rules(text, 0, len(text)))
        for name, rules in NORMALIZERS.items()
    },
}
"""By name, some also inside something else."""

SLOW = frozenset(
    {
        *("reading.segmenting.segmentation.plan_segments", "reading.segmenting.sentences.sentences"),
        *("rhapsode.bench.server.listening.WavStream", "rhapsode.bench.server.listening.Onset"),
    }
)
"""They have no patterns, or these have a test of their own. What else they do is the same for most marks."""

OURS = frozenset(
    {
        # What this release or another has written itself, and checks while it reads.
        *("storage.jobs.record_codec.decode_spec",),
        *("storage.jobs.record_codec.decode_warnings", "storage.segments.file.decode_header"),
        *("storage.jobs.record_codec.decode_submission", "storage.jobs.chapter_files.decode_chapter_files"),
        *("storage.recovery.audit_log.decode_audit", "storage.recovery.journal.decode_lines"),
        *("storage.segments.edits.decode_edit", "storage.segments.results.decode_segment_result"),
        *("storage.segments.tried.decode_rejection",),
        *("storage.segments.packs.decode_index", "storage.segments.packs.decode_place"),
        *("storage.segments.file.decode_segment", "storage.voices.cache_file.decode_artifact"),
        *("storage.voices.plan.decode_voice_plan", "storage.voices.record_codec.decode_cache"),
        *("storage.voices.record_codec.decode_error", "storage.voices.record_codec.decode_target"),
        *("storage.webhooks.record_codec.decode_secrets", "storage.webhooks.record_codec.decode_attempt"),
        *("storage.audio.recording_verdict.parse_verdict", "worker.speech.audio.segment_audio.decode_segment"),
        *("worker.planning.drafting.protocol.decode_answer",),
        # An operator's settings.
        *("api.http.middleware.cors.parse_origins", "storage.runtime.config.webhook_options.parse_networks"),
        *("storage.runtime.config.webhook_options.parse_delays", "worker.process.metrics_server.parse_ports"),
        *("storage.runtime.config.tls.check_verified", "rhapsode.cli.options.check_choices"),
        *("rhapsode.cli.options.check_between", "storage.runtime.config.settings.check_host"),
        # Not of characters: samples, and a book, whose pages are read by what stands above.
        *("api.voices.embedding_input.parse_embedding", "storage.audio.recordings.decode_recording"),
        *("reading.documents.plain.notes.find_notes", "reading.documents.epub.book.epub_script"),
        *(
            "reading.documents.docx.word_document.docx_script",
            "reading.documents.pdf.pdf_document.pdf_script",
        ),
        "reading.documents.plain.page_numbers.find_page_numbers",
        *("reading.script.script.plain_script", "reading.drafting.inputs.read_input"),
        *(
            "reading.numbers.east_asian.respell_chinese",
            "reading.english.front_end.respell_english",
            "reading.english.letters.letter_names.respell_english_by_name",
        ),
        *("reading.numbers.east_asian.respell_japanese",),
        *("reading.numbers.east_asian.respell_korean",),
    }
)
"""Named like what reads strangers' text, and why it does not stand above."""


@pytest.mark.parametrize("name", PARSERS)
def test_parsers_are_linear(name: str) -> None:
    assert [str(each) for each in steep(refusing(PARSERS[name]), units_of(name))] == []


def test_everything_named_like_a_parser_is_looked_at() -> None:
    listed = {name.partition(",")[0] for name in PARSERS} | OURS

    assert set(named_like_parsers()) - listed == set()


def units_of(name: str) -> Sequence[str]:
    """Every mark for what others wrote, a third for what consists of our patterns, which have a test of their own."""
    if name in SLOW:
        return PAIRS[::5]
    return UNITS if name.startswith("reading.documents.markdown") else UNITS[len(name) % 3 :: 3]


def refusing(parser: Callable[[str], object]) -> Callable[[str], None]:
    def work(text: str) -> None:
        with suppress(*REFUSALS):
            parser(text)

    return work


def named_like_parsers() -> Iterator[str]:
    """Functions of a text or of bytes, by how we name those that read them."""
    known = re.compile(r"(?:parse|decode|respell|check|clean|find)_|[a-z].*_script$")
    for package in ("api", "worker", "storage", "rhapsode"):
        for file in (ROOT / package).rglob("*.py"):
            module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
            for node in ast.parse(file.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef) and known.match(node.name) and _takes_text(node):
                    yield f"{module}.{node.name}"


def _takes_text(function: ast.FunctionDef) -> bool:
    first = function.args.args[0].annotation if function.args.args else None
    return first is not None and ast.unparse(first) in ("str", "bytes", "str | None", "bytes | None")
