"""Text that a model cannot read, refused while its caller still listens.

Documents, markup and texts that dictionaries respell are looked at when they are planned: only then is known what is
to be spoken.
"""

from __future__ import annotations

from api.http.problems.problem import unreadable_text
from reading.languages.writing_systems import find_foreign
from rhapsode.contract.jobs.input import JobInput
from storage.queue.model_registry import ModelCard


def refuse_foreign_text(given: JobInput, card: ModelCard) -> None:
    """Raises the `Problem` of text in letters that no language of the model is written with."""
    if given.text is not None:
        _refuse(given.text, "/input/text", card)
    for index, entry in enumerate(given.segments or ()):
        _refuse(entry.text, f"/input/segments/{index}/text", card)


def refuse_foreign_segment(text: str, card: ModelCard) -> None:
    """As `refuse_foreign_text`, for the new text of one segment."""
    _refuse(text, "/text", card)


def _refuse(text: str, pointer: str, card: ModelCard) -> None:
    found = find_foreign([text], card.languages)
    if found is not None:
        raise unreadable_text(found.script, found.start, card.name, card.languages, pointer)
