"""What a user changes of one segment after it was planned. Pure.

An edit stands over the plan: a field that is None is as the plan has it. It belongs to the take that was, or will be,
made from it; to select an earlier take is to return to that take's edit.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from pydantic import TypeAdapter

from reading.spelling.rules import PronunciationRule
from storage.errors import SegmentNotFound

FIRST_TAKE = 1

MAX_TAKES = 20
"""Of a segment. Each keeps its audio in the store and a line in Redis until the job is deleted."""


@dataclass(frozen=True, slots=True)
class SegmentEdit:
    """text: what is said instead. sentences: of some of the plan's sentences only, by their numbers from 0; one of the
    two says nothing. speaker: a name of the job's cast, "" for the job's own voice. rules: of words in it.

    seed: of the take's first attempt, exactly as it is; None follows from job, text and take. drawn: the take is to
    sound otherwise than the one before although it says the same, which a checkpoint that decodes greedily must draw.
    """

    text: str | None = None
    sentences: tuple[tuple[int, str], ...] | None = None
    speaker: str | None = None
    language: str | None = None
    instructions: str | None = None
    seed: int | None = None
    drawn: bool | None = None
    rules: tuple[PronunciationRule, ...] | None = None

    @property
    def differs(self) -> bool:
        """Whether it is said otherwise than the plan has it."""
        return replace(self, drawn=None) != UNEDITED

    @property
    def changes_words(self) -> bool:
        return not (self.text is None and self.sentences is None and self.rules is None)

    def over(self, earlier: SegmentEdit) -> SegmentEdit:
        """Both together; where both say something, this one counts. What says something new need not be drawn.

        Raises `SegmentNotFound` for a sentence that the earlier edit has taken away.
        """
        own = self._beside(earlier)
        said = {each.name: value for each in fields(own) if (value := getattr(own, each.name)) is not None}
        both = replace(earlier, **said)
        if own.text is not None:
            both = replace(both, sentences=None)
        if own.rules and earlier.rules:
            rules = {each.grapheme: each for each in (*earlier.rules, *own.rules)}
            both = replace(both, rules=tuple(rules.values()))
        return both if both == earlier else replace(both, drawn=self.drawn)

    def _beside(self, earlier: SegmentEdit) -> SegmentEdit:
        """This one, where the earlier one has said something of other sentences, or of the whole."""
        if self.sentences is None:
            return self
        if earlier.text is not None:
            # What is said instead of a segment counts as one sentence.
            if [number for number, _ in self.sentences] != [0]:
                raise SegmentNotFound
            return replace(self, text=self.sentences[0][1], sentences=None)
        both = dict(earlier.sentences or ()) | dict(self.sentences)
        return replace(self, sentences=tuple(sorted(both.items())))


UNEDITED = SegmentEdit()

_EDIT = TypeAdapter(SegmentEdit)


def encode_edit(edit: SegmentEdit) -> str:
    """Equal edits give equal text; "" for one that changes nothing."""
    return "" if edit == UNEDITED else _EDIT.dump_json(edit, exclude_none=True).decode()


def decode_edit(text: str) -> SegmentEdit:
    return _EDIT.validate_json(text) if text else UNEDITED
