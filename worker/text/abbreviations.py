"""Full stops that end no sentence, in the languages of the model family. Pure.

The lists are for narration, not for parsing: where it is open whether a sentence ends, it goes on, because a pause
inside a sentence is heard and a missing one is not.
"""

from __future__ import annotations

import re

_BEFORE_NAMES = (
    # English
    *("Mr", "Mrs", "Ms", "Dr", "Prof", "St", "Rev", "Hon", "Gen", "Col", "Maj", "Capt", "Lt", "Sgt", "Cpl", "Cmdr"),
    *("Gov", "Sen", "Rep", "Pres", "Messrs", "Mt", "Ft"),
    # German
    *("Hr", "Hrn", "Fr", "Frl", "Fa", "Fam", "Dipl", "Ing", "Mag", "Hl"),
    # French
    *("Mme", "Mmes", "Mlle", "MM", "Ste", "Me", "Mgr", "gén", "Gén", "cap", "prof"),
    # Spanish and Portuguese
    *("Sr", "Sra", "Srta", "Sres", "Dra", "Sta", "Sto", "Ud", "Uds", "Vd", "gral", "Gral", "Cnel", "Av", "Avda", "Exa"),
    *("Profa", "Eng", "gen", "cel", "Ilmo", "Exmo", "Exma", "Excmo", "Excma", "Mons", "Lic"),
    # Italian
    *("Sig", "sig", "Sigg", "sigg", "sig.ra", "Sig.ra", "sig.na", "dott", "Dott", "dott.ssa", "Dott.ssa", "prof.ssa"),
    *("Prof.ssa", "avv", "Avv", "ing", "arch", "on", "On", "mons"),
    # Russian
    *("проф", "Проф", "акад", "Акад", "ген", "Ген", "св", "Св", "ул", "пр", "пл", "пер", "просп", "им", "гр", "тов"),
    *("г", "гор", "р", "оз", "о", "д", "стр", "корп", "кв", "ок", "см", "См", "ср", "Ср", "напр", "рис", "табл", "гл"),
)
"""What follows is a name, or more of the same expression."""

_BEFORE_NUMBERS = (
    *("No", "no", "Nos", "nos", "Nr", "Nrn", "n", "núm", "vol", "Vol", "Vols", "vols", "Bd", "Bde", "t", "Т", "т", "p"),
    *("pp", "S", "s", "pag", "pagg", "pág", "págs", "Abb", "Abs", "Art", "art", "fig", "Fig", "figs", "Figs", "Kap"),
    *("ch", "chap", "Chap", "cap", "Cap", "sec", "Sec", "ca", "Ca", "approx", "Approx", "aprox", "Aprox", "env", "rd"),
    *("op", "Op", "ed", "стр", "рис", "п", "пп", "ст", "ч", "Ч", "str", "Str", "Hausnr", "Tel", "tel"),
    *("Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sep", "Sept", "Oct", "Okt", "Nov", "Dec", "Dez"),
    *("janv", "févr", "avr", "juil", "sept", "oct", "nov", "déc", "ene", "abr", "ago", "dic", "genn", "febbr"),
)
"""What follows is a number."""


def _behind_word_start(words: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = "|".join(re.escape(word) for word in sorted(set(words), key=len, reverse=True))
    return re.compile(rf"(?<![\w-])(?:{longest_first})\.$")


_NAME_FOLLOWS = _behind_word_start(_BEFORE_NAMES)
_NUMBER_FOLLOWS = _behind_word_start(_BEFORE_NUMBERS)
_COMPOUND_STREET = re.compile(r"[a-zäöü]str\.$")
_INITIAL = re.compile(r"(?<![^\W_])[^\W\d_]\.$")
_GERMAN_ORDINAL = re.compile(
    r"\b(?:am|der|die|das|dem|den|des|im|zum|zur|vom|und|bis|seit|ab|sein(?:e[mnrs]?)?)\s\d{1,3}\.$", re.IGNORECASE
)
_GERMAN_AFTER_ORDINAL = re.compile(
    r"(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Jahrhundert|Jh\b)"
)
_BARE_ORDINAL = re.compile(r"(?<!\S)\d{1,3}\.$")
_ROMAN = re.compile(r"[IVXLC]+\b")

LOOK_BACK = 24
"""Characters before a full stop that decide."""


def is_abbreviation(before: str, after: str) -> bool:
    """Whether the full stop at the end of `before` belongs to its word. `after` is what follows the whitespace."""
    if not before.endswith(".") or not after:
        return False
    before = before[-LOOK_BACK:]
    if _NAME_FOLLOWS.search(before):
        return True
    if after[0].isdigit() or _ROMAN.match(after):
        return bool(_NUMBER_FOLLOWS.search(before) or _COMPOUND_STREET.search(before))
    initial = _INITIAL.search(before)
    if initial is not None and initial.group()[0].isupper() and after[0].isupper():
        return True
    if _GERMAN_ORDINAL.search(before):
        return True
    return bool(_BARE_ORDINAL.search(before) and _GERMAN_AFTER_ORDINAL.match(after))
