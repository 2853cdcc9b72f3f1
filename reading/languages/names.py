"""Languages as tags (BCP 47) and as models name them. Pure."""

from __future__ import annotations

from reading.languages.tables import table

AUTO_LANGUAGE = "auto"
"""In place of a language: the model finds out by itself."""

LANGUAGE_NAMES = table(
    """
    de=german|en=english|es=spanish|fr=french|it=italian|ja=japanese|ko=korean|pt=portuguese|ru=russian|zh=chinese
    """
)
"""By primary subtag; region and script make no difference to the models."""


NORMALIZED_LANGUAGES = tuple(sorted(set(LANGUAGE_NAMES.values()) - {"russian"}))
"""Whose numbers and signs can be written as words. In Russian nearly every number declines with the words around it."""


def language_name(tag: str) -> str | None:
    """`en-GB` is english; None for a language that no model of the family speaks."""
    return LANGUAGE_NAMES.get(tag.replace("_", "-").partition("-")[0].lower())


def language_tag(name: str) -> str:
    """The tag of a language as models name it; "" for `auto` and for one that is known by its name alone."""
    return next((tag for tag, known in LANGUAGE_NAMES.items() if known == name.lower()), "")
