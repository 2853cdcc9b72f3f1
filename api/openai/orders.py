"""A call of OpenAI's shape as the narration that it comes to."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from anyio.to_thread import run_sync
from pydantic import ValidationError

from api.http.parsing import body_violations, parse_body
from api.http.problems.problem import FieldViolation, HttpProblem, invalid, invalid_field, payload_too_large_for_speech
from api.openai.leniency import Wish
from api.openai.spoken_names import SpokenNames
from reading.documents.errors import DocumentError
from reading.documents.markdown_document import markdown_script
from reading.spelling.spoken import SpokenText
from rhapsode.contract.jobs.request import JobRequest
from rhapsode.contract.openai import MAX_INPUT_CHARS, SpeechFormat, SpeechOrder

RETENTION_S = 3600
"""Of the job behind an answer, for those who ask again under their key. A longer text is a job like any other."""

IGNORED = "ignored"
"""In a job's metadata: what `X-Ignored` says, also to those who ask again."""

SHORT_BYTES = 16 * 1024
"""Of a call without a recording in it."""

_PLACES = {"/x_vector_only": "/x_vector_only_mode", "/input/text": "/input", "/output/speed": "/speed"}
"""Where a caller said what a job has elsewhere."""

_INSIDE = ("/sampling", "/output")

_MARKDOWN = re.compile(
    r"^[ ]{0,3}(?:#{1,6}[ \t]+\S|`{3}[\w+#-]*[ \t]*$|\*[ \t]+\S[^\n]*\n[ ]{0,3}\*[ \t]+\S|"
    r"\|(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*$)|"
    r"(?<![\w*])(?P<stars>\*{1,3})[^\W_][^*\n]{0,300}(?<!\s)(?P=stars)(?![\w*])|(?<![\w`])`[^`\n]{1,300}`(?![\w`])|"
    r"\[[^\[\]\n]{1,300}\]\((?:https?://|mailto:|/|\#)[^()\s]{0,1000}\)",
    re.MULTILINE,
)
"""A heading, a fence, two items of a list, the line under the head of a table, emphasis, code, a link."""


async def read_wish(body: bytes, most_chars: int) -> Wish:
    """A short one at once, as a thread would take longer than that. Raises a `HttpProblem`."""
    return parse_wish(body, most_chars) if len(body) <= SHORT_BYTES else await run_sync(parse_wish, body, most_chars)


def parse_wish(body: bytes, most_chars: int) -> Wish:
    return wish_of(parse_body(SpeechOrder, body), most_chars)


def wish_of(order: SpeechOrder, most_chars: int = MAX_INPUT_CHARS) -> Wish:
    """Raises a `HttpProblem`."""
    if len(order.input) > most_chars:
        raise payload_too_large_for_speech(len(order.input), most_chars)
    return _as_prose(Wish(order, tuple(order.model_extra or ())))


def _as_prose(wish: Wish) -> Wish:
    """Markdown as chats write it becomes prose. Parts that are not read are ignored by kind; code alone is a silence.

    Raises a `HttpProblem`.
    """
    order = wish.order
    if order.input_format == "plain" or (order.input_format == "auto" and _MARKDOWN.search(order.input) is None):
        return wish
    try:
        # The first line is empty: rules around a chat's answer would be read as the head of a document.
        script = markdown_script(f"\n{order.input}", ())
    except DocumentError as error:
        raise invalid_field("/input", "not_supported", f"{error}; or send `input_format: plain`") from error
    text = SpokenText(script.text, script.replacements).text.strip() or "..."
    left_out = dict.fromkeys(each.kind for each in script.left_out)
    return Wish(order.model_copy(update={"input": text}), (*wish.ignored, *left_out))


def stored_as(form: SpeechFormat) -> str:
    """The format of the job's file."""
    return "wav" if form == "pcm" else form


def job_request(order: SpeechOrder, names: SpokenNames, ignored: str = "") -> JobRequest:
    """The narration that an order comes to. Raises the `HttpProblem` of what cannot be spoken."""
    _refuse_own_way(order)
    is_short = len(order.input) <= MAX_INPUT_CHARS
    fields: dict[str, Any] = {
        "input": {"text": order.input},
        "model": names.model,
        "voice": names.voice,
        "language": order.language,
        "instructions": order.instructions,
        "ref_audio": order.ref_audio,
        "ref_text": order.ref_text,
        "x_vector_only": _x_vector_only(order),
        "speaker_embedding": order.speaker_embedding,
        "consent": order.consent,
        "sampling": order.sampling.model_dump(exclude_none=True),
        "seed": order.seed,
        "reuse": order.reuse,
        **order.repeatability.model_dump(),
        "output": {"formats": [{"type": stored_as(order.response_format)}], "speed": order.speed},
        "priority": "high" if is_short else None,
        "retention_s": RETENTION_S if is_short else None,
        "metadata": {IGNORED: ignored} if ignored else None,
    }
    try:
        return JobRequest.model_validate({name: value for name, value in fields.items() if value is not None})
    except ValidationError as error:
        raise invalid([_as_said(each) for each in body_violations(error)]) from None


def said_otherwise(problem: HttpProblem) -> HttpProblem:
    """The same about the fields of the call."""
    found = [_as_said(each) for each in problem.violations]
    names_fields = problem.code == "invalid_request" and problem.status == 422
    return invalid(found) if found and names_fields else problem.at(found)


def _as_said(violation: FieldViolation) -> FieldViolation:
    pointer = violation.pointer or ""
    for prefix in _INSIDE:
        pointer = pointer.removeprefix(prefix) if pointer.startswith(f"{prefix}/") else pointer
    return replace(violation, pointer=_PLACES.get(violation.pointer or "", pointer))


def _x_vector_only(order: SpeechOrder) -> bool | None:
    """An embedding has no other way; of `false` a job says nothing."""
    if order.speaker_embedding is None:
        return order.x_vector_only_mode or None
    if order.x_vector_only_mode is False:
        detail = "`speaker_embedding` is spoken with in no other mode; give `ref_audio` and `ref_text`"
        raise invalid_field("/x_vector_only_mode", "not_supported", detail)
    return None


def _refuse_own_way(order: SpeechOrder) -> None:
    if order.x_vector_only_mode and order.ref_audio is not None and order.ref_text:
        raise invalid_field("/ref_text", "not_allowed", "`x_vector_only_mode` does not read it")
