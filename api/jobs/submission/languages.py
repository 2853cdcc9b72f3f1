"""Text that a model cannot read, refused while its caller still listens.

Documents, markup and texts that dictionaries respell are looked at when they are planned: only then is known what is
to be spoken.
"""

from __future__ import annotations

from api.http.problems.problem import unreadable_text
from reading.languages.writing_systems import find_foreign
from rhapsode.contract.jobs.input import JobInput
from storage.queue.model_registry import ModelCard


def refuse_foreign_texts(given: JobInput, card: ModelCard) -> None:
    """Raises the `Problem` of text in letters that no language of the model is written with."""
    if given.text is not None:
        refuse_foreign_text(given.text, "/input/text", card)
    for index, entry in enumerate(given.segments or ()):
        refuse_foreign_text(entry.text, f"/input/segments/{index}/text", card)


def refuse_foreign_text(text: str, pointer: str, card: ModelCard) -> None:
    found = find_foreign([text], card.languages)
    if found is not None:
        raise unreadable_text(found.script, found.start, card.name, card.languages, pointer)
