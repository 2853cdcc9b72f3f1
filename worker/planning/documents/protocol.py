"""What the process that reads documents answers: one line of JSON, a script or the reason why there is none."""

from __future__ import annotations

import base64
import json
from typing import Any

from storage.narration.script.script import Block, BlockKind, Script, ScriptChapter, Span
from worker.planning.documents.errors import DocumentError


def encode_script(script: Script) -> bytes:
    """Documents have one voice and no replacements, so these are not written."""
    answer = {
        "text": script.text,
        "blocks": [[block.kind.value, block.start, block.end] for block in script.blocks],
        "chapters": [[chapter.id, chapter.title, chapter.start] for chapter in script.chapters],
        "title": script.title,
        "author": script.author,
        "language": script.language,
        "cover": None if script.cover is None else base64.b64encode(script.cover).decode(),
    }
    return f"{json.dumps(answer)}\n".encode()


def encode_refusal(error: DocumentError) -> bytes:
    return f"{json.dumps({'refused': error.detail, 'code': error.code})}\n".encode()


def decode_answer(data: bytes) -> Script:
    """Raises the `DocumentError` it holds, or `ValueError` if it is no answer."""
    try:
        answer: dict[str, Any] = json.loads(data)
        if "refused" in answer:
            raise DocumentError(answer["refused"], answer["code"])
        return Script(
            text=answer["text"],
            blocks=tuple(Block(BlockKind(kind), (Span(start, end),)) for kind, start, end in answer["blocks"]),
            chapters=tuple(ScriptChapter(*chapter) for chapter in answer["chapters"]),
            title=answer["title"],
            author=answer["author"],
            language=answer["language"],
            cover=None if answer["cover"] is None else base64.b64decode(answer["cover"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not an answer: {error}") from error
