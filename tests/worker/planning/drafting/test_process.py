"""The process that drafts plans: bounded, without doors, and heard when it ends badly."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from reading.drafting.draft import Draft
from reading.drafting.warnings import TextWarning
from reading.plan.plan import Chapter, Plan, PlanSegment
from reading.spelling.rules import PronunciationRule, encode_rules
from rhapsode.contract.jobs.input import DocumentFormat, NarrationInput, Normalization, SourceType
from rhapsode.contract.jobs.narration import Narration
from storage.narration.cast import SpeakerVoice
from storage.narration.spec import NarrationSpec
from tests.reading.documents.books import book, package, page
from tests.reading.documents.pdf.papers import column, paper
from tests.storage.runtime.fork_server.programs import fork_server_of
from worker.errors import PermanentItemError
from worker.planning.drafting.draft import DraftRequest, draft_plan
from worker.planning.drafting.process import DrafterBroken, draft_apart
from worker.planning.drafting.protocol import decode_answer, encode_draft, read_request, write_request

SPEC = NarrationSpec(Narration(model="fake", voice="ada", language="english"))
REQUEST = DraftRequest(SPEC, b"Hello.")


def unconcerned() -> None:
    """Nothing gives up on the input."""


def document(document_format: DocumentFormat, *include: str) -> NarrationSpec:
    return SPEC.asking(input=NarrationInput(type=SourceType.DOCUMENT, format=document_format, include=include))


def test_a_book_comes_back_as_it_was_read() -> None:
    data = book({"book.opf": package(["one.xhtml"]), "one.xhtml": page("<h1>Über</h1><p>字 🦊.</p>")})

    draft = draft_apart(DraftRequest(document(DocumentFormat.EPUB), data), unconcerned)

    assert draft.text == "Über\n\n字 🦊.\n\n"
    assert (draft.plan.title, draft.plan.chapters[0].title, draft.has_chapters) == ("A Book", "Über", True)
    assert [segment.text for segment in draft.plan.segments] == ["Über", "字 🦊."]


@pytest.mark.parametrize(
    ("request_", "first"),
    [
        (DraftRequest(SPEC.asking(normalization=Normalization.BASIC), b"I have 3 kg."), "I have three kilograms."),
        (DraftRequest(replace(SPEC, cast=(SpeakerVoice("Tom", "tom"),)), b"TOM: Good day."), "Good day."),
        (DraftRequest(SPEC.asking(input=NarrationInput(type=SourceType.SSML)), b"<speak>One.</speak>"), "One."),
        (DraftRequest(document(DocumentFormat.MARKDOWN), b"# One\n\nTwo."), "One"),
        (DraftRequest(document(DocumentFormat.TEXT), "灯亮了，屋子里暖和起来。".encode("gbk")), "灯亮了"),
        (DraftRequest(document(DocumentFormat.HTML), b"<p>One &amp; two."), "One & two."),
        (DraftRequest(document(DocumentFormat.PDF), paper([column(["A page of letters."])])), "A page of letters."),
        (DraftRequest(SPEC, b"A tomato.", (encode_rules([PronunciationRule("tomato", "tomahto")]),)), "A tomahto."),
        (DraftRequest(replace(SPEC, languages=("english",)), b"Das ist nicht gut. " * 20), "Das ist nicht gut."),
    ],
)
def test_the_process_makes_of_every_kind_of_input_what_the_function_does(request_: DraftRequest, first: str) -> None:
    draft = draft_apart(request_, unconcerned)

    assert draft == draft_plan(request_)
    assert draft.plan.segments[0].text.startswith(first)


def test_messages_arrive_as_they_were_sent() -> None:
    request = DraftRequest(document(DocumentFormat.EPUB, "3"), b"\n\x00{}\n", (b"", b"\n"))
    segment = PlanSegment(0, 0, 3, "Ä\n.", 0.5, "Tom", "german", "calm", 5, 0, "id")
    plan = Plan((replace(segment, is_last=True),), (Chapter("One\n", 0, "1"),), "T", "A", "de")
    draft = Draft(plan, "Ä\n.", 7, (TextWarning("foreign_letters", "3", 0),), True, b"\n\x89PNG")
    file = io.BytesIO()

    write_request(request, file)
    file.seek(0)

    assert read_request(file) == request
    assert decode_answer(encode_draft(draft)) == draft
    assert decode_answer(encode_draft(replace(draft, cover=None))).cover is None


def test_a_refusal_comes_back_with_its_code() -> None:
    request = DraftRequest(document(DocumentFormat.MARKDOWN, "2"), b"# One\n\nText.")

    with pytest.raises(PermanentItemError, match=r"invalid_request: .* no chapter '2'"):
        draft_apart(request, unconcerned)


def test_nesting_without_end_is_refused() -> None:
    request = DraftRequest(document(DocumentFormat.HTML), b"<p>" + b"<div>" * 100_000 + b"lost")

    with pytest.raises(PermanentItemError, match=r"unsupported_media: .* cannot be read to its end"):
        draft_apart(request, unconcerned)


@pytest.mark.parametrize("data", [b"." * 40_000 + b" a", b"Fine. " * 9 + b"a" * 1_001])
def test_a_word_without_end_is_refused_in_a_document_as_in_a_request(data: bytes) -> None:
    request = DraftRequest(document(DocumentFormat.TEXT), data)

    with pytest.raises(PermanentItemError, match=r"invalid_request: the word at character \d+ has more than 1000"):
        draft_apart(request, unconcerned)


def test_a_process_that_is_killed_blames_the_input() -> None:
    with (
        fork_server_of("os.kill(os.getpid(), signal.SIGXCPU)") as drafters,
        pytest.raises(PermanentItemError, match=r"input_too_complex: .* more than 20 seconds of a processor or 2 GiB"),
    ):
        draft_apart(REQUEST, unconcerned, drafters)


def test_memory_without_end_blames_the_input() -> None:
    setup = (
        "from worker.planning.drafting import __main__ as program\n"
        "def endless(request):\n    raise MemoryError\n"
        "program.draft_plan = endless"
    )
    with (
        fork_server_of("program.answer(arguments)", setup) as drafters,
        pytest.raises(PermanentItemError, match="input_too_complex"),
    ):
        draft_apart(REQUEST, unconcerned, drafters)


def test_a_process_that_does_not_run_is_not_the_inputs_fault() -> None:
    with fork_server_of("raise RuntimeError('no parser')") as drafters, pytest.raises(DrafterBroken, match="no parser"):
        draft_apart(REQUEST, unconcerned, drafters)
    with fork_server_of("print('hello')") as drafters, pytest.raises(DrafterBroken, match="no answer"):
        draft_apart(REQUEST, unconcerned, drafters)
    with fork_server_of("print('{}')") as drafters, pytest.raises(DrafterBroken, match="no answer"):
        draft_apart(REQUEST, unconcerned, drafters)
    with fork_server_of("", "import lxmls") as drafters, pytest.raises(DrafterBroken, match="No module named 'lxmls'"):
        draft_apart(REQUEST, unconcerned, drafters)


def test_drafting_ends_when_the_plan_is_not_wanted_any_more() -> None:
    class GivenUp(Exception):
        pass

    def give_up() -> None:
        raise GivenUp

    with fork_server_of("signal.pause()") as drafters, pytest.raises(GivenUp):
        draft_apart(REQUEST, give_up, drafters)


def test_the_process_can_open_neither_file_nor_socket() -> None:
    task = """
opened = 0
for door in (lambda: open('/etc/hostname'), socket.socket):
    try:
        door()
        opened += 1
    except OSError:
        pass
raise RuntimeError(f'{opened} opened')
"""

    with fork_server_of(task) as drafters, pytest.raises(DrafterBroken, match="RuntimeError: 0 opened"):
        draft_apart(REQUEST, unconcerned, drafters)
