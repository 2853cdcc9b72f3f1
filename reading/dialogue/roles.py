"""What the people of a text are, besides their names: `her aunt, Mrs. Norris` is an aunt, `Inspector Lee` one. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping

from reading.dialogue.people import People
from reading.dialogue.vocabulary import PERSON_NOUNS

Roles = Mapping[str, Counter[int]]
"""A noun in small letters, to how often the text gives it to each person."""

_NOUN = rf"({'|'.join(sorted(PERSON_NOUNS, key=len, reverse=True))})"
_OWNER = r"(?:his|her|my|their|our|your|the|an?|this|that|old|young|poor)"
_BEFORE = re.compile(rf"\b{_OWNER}\s(?:[a-z-]{{1,15}}\s){{0,2}}{_NOUN},?\s$", re.IGNORECASE)
_AFTER = re.compile(rf"(?:,|\s(?:was|is))\s{_OWNER}\s(?:[a-z-]{{1,15}}\s){{0,2}}{_NOUN}\b")
_TITLES = {
    "dr": "doctor",
    "prof": "professor",
    "auntie": "aunt",
    "granny": "grandmother",
    "grandpa": "grandfather",
    "papa": "father",
    "mamma": "mother",
    "mama": "mother",
}
_MARGIN = 50
"""Characters before a name that can tell what the person is."""


def find_roles(text: str, people: People) -> Roles:
    """Linear in the length of the text."""
    roles: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for mention in people.mentions:
        start = max(0, mention.start - _MARGIN)
        for match in (_BEFORE.search(text[start : mention.start]), _AFTER.match(text, mention.end)):
            if match is not None:
                roles[match[1].lower()][mention.person] += 1
        title = text[mention.start : mention.end].split()[0].rstrip(".").lower()
        if (noun := _TITLES.get(title, title)) in PERSON_NOUNS:
            roles[noun][mention.person] += 1
    return roles
