"""Roman numerals: Henry VIII, Chapter IV, World War II, the XIX century. What stands before one says what it is."""

from __future__ import annotations

import re

from reading.english.rule import DASH, END, ENDS_OR_OWNS, EnglishRule, after, before, rule
from reading.languages.tables import one_of, words
from reading.numbers.english_words import cardinal, ordinal
from reading.numbers.roman_numerals import roman_value

_HEADINGS = words(
    """
    Chapter Book Part Act Scene Volume Canto Section Appendix Article Lesson Psalm Type Phase Class Stage Level
    Figure Plate Table Letter Sonnet Mark Apollo Gemini Rocky Rambo Bowl War Grade Category Title Stave Adventure
    Vol. Vols. Problem Rule Theorem Group Division Corps Symphony Sonata No. Number Fig. Chap. Episode Schedule
    Annex Round Item Note Step Story Tale Ode Elegy
    """
)
_LISTED = r"(?:[ivxlcIVXLC\d]{1,9}(?:[-–][ivxlcIVXLC\d]{1,9})?(?:,|,?\s(?:and|or|to|through))\s){0,4}"
_HEADING = re.compile(
    rf"\b(?:{one_of({*_HEADINGS, *(each.upper() for each in _HEADINGS)})})"
    rf"(?:\s|(?:s|(?<=Vol\.)|(?<=No\.))\s{_LISTED})\Z"
)
_OTHERS = re.compile(rf"{DASH}[IVXLC]|,?\s(?:and|or|to|through)\s[IVXLC]{{1,9}}\b|,\s[IVXLC]{{1,9}}\b")
_MANY = re.compile(r"[A-Za-z]s\.?\s\Z")
_LOWER_HEADING = re.compile(
    rf"(?:\b(?:[Cc]hapter|[Ss]cene|[Aa]ct|[Bb]ook|[Pp]art|[Vv]olume|[Cc]anto|[Pp]age)(?:s\s{_LISTED}|\s)|"
    rf"\b(?:[Vv]ols?|pp?)\.\s?{_LISTED})\Z"
)
_LOWER_KIND = re.compile(r"\b(?:type|stage|phase|grade|class|category|level|figure|table|appendix)\s\Z")
"""Before an I these are mostly nouns with a relative clause: the class I took."""

REGNAL_NAMES = words(
    """
    Henry Louis Elizabeth George Charles Edward James William Richard Philip Mary Ferdinand Frederick Wilhelm
    Nicholas Alexander Ivan Catherine Peter Paul Pius John Gregory Leo Benedict Innocent Urban Clement Boniface
    Napoleon Ptolemy Ramses Rameses Darius Xerxes Artaxerxes Thutmose Amenhotep Alfonso Alphonso Pedro Carlos Juan
    Felipe Emmanuel Haakon Christian Gustav Gustavus Olaf Harald Robert David Margaret Anne Joseph Leopold Albert
    Maximilian Rudolf Rudolph Otto Conrad Sigismund Vladislav Stephen Andrew Constantine Justinian Theodosius
    Baldwin Umberto Victor Franz Francis Isabella Joanna Manuel Selim Mehmed Murad Abdul Suleiman Sixtus Julius
    Adrian Martin Eugene Nicolas Celestine Callixtus Honorius Lucius Duncan Kenneth Donald Magnus Sverre Eric Canute
    Cnut Harold Edgar Ludwig Friedrich Karl Eduard Ernst Augustus Antiochus Seleucus Mithridates
    """
)

_RULER = re.compile(rf"\b(?:{one_of(REGNAL_NAMES)})\s\Z")
_RULED = re.compile(
    r"['’]s\b|[.,;:!?)\]\"”—–]|\Z|\s(?:of|and|was|is|had|died|reigned|ruled|abdicated|became|himself|herself)\b"
)
_GOES_ON = re.compile(r"\s(?!(?:of|and|or|to|in|is|was|begins|ends|opens|shows|contains|had)\b)[a-z]")
_CENTURY = re.compile(r"(?:th)?\s(?:[Cc]entury|[Cc]ent\.)")
_CANONICAL = re.compile(r"C{0,3}(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_ALONE_BEFORE = re.compile(r"(?:\n[^\S\n]{0,16}\n[^\S\n]{0,16}|\A\s{0,16})\Z")
_ALONE_AFTER = re.compile(r"\.?[^\S\n]{0,8}\n[^\S\n]{0,8}\n")

_TITLE_AFTER = re.compile(r"\.[^\S\n]{1,3}(?:[A-Z]{2}|[A-Z][a-z]{0,20}\s[A-Z])")


def value_of(written: str) -> int | None:
    """None for what no Roman wrote, as IIX."""
    numeral = written.upper()
    return roman_value(numeral) if numeral and _CANONICAL.fullmatch(numeral) else None


def _numeral(match: re.Match[str]) -> str | None:
    written, front, behind = match["first"], before(match), after(match)
    number, last = value_of(written), value_of(match["last"] or "I")
    if number is None or last is None:
        return None
    is_headed = _HEADING.search(front) or _LOWER_HEADING.search(front)
    if match["last"]:
        return f"{_titled(number)} to {_titled(last)}" if is_headed else None
    if is_headed:
        if written == "I" and _MANY.search(front) and not _OTHERS.match(behind):
            return None
        return None if written == "I" and _GOES_ON.match(behind) and not _OTHERS.match(behind) else _titled(number)
    if len(written) > 1 and _LOWER_KIND.search(front):
        return cardinal(number)
    if _RULER.search(front):
        return None if written == "I" and not _RULED.match(behind) else f"the {ordinal(number).title()}"
    if len(written) > 1 and _CENTURY.match(behind):
        return ordinal(number)
    return _titled(number) if _ALONE_BEFORE.search(front) and _is_heading(written, behind) else None


def _is_heading(written: str, behind: str) -> bool:
    """A chapter's number in a separate paragraph, or before its title."""
    is_sure = len(written) > 2 or (len(written) == 2 and "C" not in written)
    if _ALONE_AFTER.match(behind):
        return is_sure or (len(written) == 1 and behind.startswith("."))
    return is_sure and _TITLE_AFTER.match(behind) is not None


def _titled(number: int) -> str:
    return cardinal(number).capitalize()


def _lower(match: re.Match[str]) -> str | None:
    number, last = value_of(match["first"]), value_of(match["last"] or "i")
    if number is None or last is None or not _LOWER_HEADING.search(before(match)):
        return None
    return f"{cardinal(number)} to {cardinal(last)}" if match["last"] else cardinal(number)


RULES: tuple[EnglishRule, ...] = (
    rule(
        "IVXLC", rf"(?P<first>[IVXLC]{{1,9}})(?:{DASH}(?P<last>[IVXLC]{{1,9}}))?(?:(?=th\s)|{ENDS_OR_OWNS})", _numeral
    ),
    rule("ivxl", rf"(?P<first>[ivxl]{{1,8}})(?:{DASH}(?P<last>[ivxl]{{1,8}}))?{END}", _lower),
)
