"""Numbers, money, units and ordinals as words, in languages with spaces and decimal commas. Few and predictable rules:
what none of them knows, and what would have to agree with an unknown noun, stays as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reading.numbers.european_words import (
    FRENCH,
    GERMAN,
    ITALIAN,
    MAX_DIGITS,
    PORTUGUESE,
    SPANISH,
    Noun,
    NumberLanguage,
    cardinal,
    ordinal,
)
from reading.script.script import Replacement

_NOUN_FOLLOWS = re.compile(r"(?<!\s)[^\S\n]*+(?:\n[^\S\n]*+)?[^\W\d_]")
_GERMAN_MONTH = "Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
_GERMAN_ORDINAL = re.compile(
    rf"""(?<![\w.,])(?:
        (?P<weak>[Aa]m|[Ii]m|[Dd]em|[Dd]en|[Dd]es|[Vv]om|[Zz]um|[Bb]eim)
      | (?P<nominative>[Dd]er)(?=\s\d{{1,2}}\.\s(?:{_GERMAN_MONTH})\b)
    )\s(?P<number>\d{{1,3}})\.(?=\s[^\W\d_])""",
    re.VERBOSE,
)
_ROMANCE_ORDINAL = re.compile(r"(?<![\w.,])(?P<number>[1-9]|10)\.?(?P<end>[ºª])(?!\w)")
_FRENCH_ORDINAL = re.compile(r"(?<![\w.,])(?P<number>\d{1,3})(?P<end>er|re|ère|e|ème)\b")
_YEARS_IN_HUNDREDS = range(1100, 2000)
_MAYBE_ORDINAL = re.compile(r"\.\s+[^\W\d_]")
"""Behind a German number: "der 2. Weltkrieg", or the end of the sentence."""

_YEARS = range(1100, 2100)
_MONTHS = (
    *("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre"),
    *("diciembre", "janeiro", "fevereiro", "março", "maio", "junho", "julho", "setembro", "outubro", "novembro"),
    *("dezembro",),
)
_YEAR_CUE = re.compile(rf"\b(?:en|em|año|ano|(?:{'|'.join(_MONTHS)}) de)\s$", re.IGNORECASE)
"""Before a Spanish or Portuguese year, which agrees with nothing."""

_CUE_CHARS = 24


class NumberRules:
    """`Respell` of one language."""

    def __init__(self, language: NumberLanguage) -> None:
        self._language = language
        group = f"[{re.escape(language.groups)}]"
        number = rf"\d{{1,3}}(?:{group}\d{{3}})+(?:,\d+)?|\d+(?:,\d+)?"
        signs = "|".join(re.escape(sign) for sign in sorted(language.money, key=len, reverse=True))
        units = "|".join(re.escape(unit) for unit in sorted((*language.units, "%"), key=len, reverse=True))
        self._found = re.compile(
            rf"""(?<![\w.,/:+#°§–-])(?<!\d\s)(?:
                (?P<before>{signs})\s?(?P<amount_behind>{number})
              | (?P<section>§{{1,2}}\s?)?
                (?P<minus>[-−])?(?P<number>{number})(?:\s?(?:(?P<behind>{signs})|(?P<unit>{units})))?
            )(?![\w%/°]|[.,:’'-]\d|[-–]\d|\.?[ºª])""",
            re.VERBOSE,
        )
        self._separators = str.maketrans("", "", language.groups)

    def __call__(self, text: str, start: int, end: int) -> Iterator[Replacement]:
        at = start
        for each in sorted((*self._clocks(text, start, end), *self._ordinals(text, start, end)), key=_start):
            if each.start >= at:
                yield from self._numbers(text, at, each.start)
                yield each
                at = each.end
        yield from self._numbers(text, at, end)

    def _numbers(self, text: str, start: int, end: int) -> Iterator[Replacement]:
        for match in self._found.finditer(text, start, end):
            spoken = self._spoken(match, text, end)
            if spoken is not None:
                yield Replacement(match.start(), match.end(), spoken)

    def _clocks(self, text: str, start: int, end: int) -> Iterator[Replacement]:
        language = self._language
        for match in language.clock.finditer(text, start, end):
            if match.start() > start and re.match(r"[\w.,:]", text[match.start() - 1]):
                continue
            hour, minute = int(match["hour"]), int(match["minute"])
            hours = language.hours.get(hour, f"{cardinal(language, hour)} {language.other_hours}")
            minutes = "" if minute == 0 else f" {cardinal(language, minute)}"
            yield Replacement(match.start(), match.end(), f"{hours}{minutes}")

    def _ordinals(self, text: str, start: int, end: int) -> Iterator[Replacement]:
        language = self._language
        if language is GERMAN:
            for match in _GERMAN_ORDINAL.finditer(text, start, end):
                words = ordinal(language, int(match["number"])) + ("n" if match["weak"] else "")
                yield Replacement(match.start("number"), match.end(), words)
        elif language is FRENCH:
            for match in _FRENCH_ORDINAL.finditer(text, start, end):
                if words := _french_ordinal(int(match["number"]), match["end"]):
                    yield Replacement(match.start(), match.end(), words)
        else:
            for match in _ROMANCE_ORDINAL.finditer(text, start, end):
                words = ordinal(language, int(match["number"]))
                yield Replacement(match.start(), match.end(), words[:-1] + "a" if match["end"] == "ª" else words)

    def _spoken(self, match: re.Match[str], text: str, end: int) -> str | None:
        language = self._language
        written = match["amount_behind"] or match["number"]
        whole, _, decimals = written.translate(self._separators).partition(",")
        if len(whole) > MAX_DIGITS or (len(whole) > 1 and whole[0] == "0") or len(decimals) > MAX_DIGITS:
            return None
        sign = f"{language.minus} " if match["minus"] else ""
        if match["section"]:
            is_one = language is GERMAN and match["section"].strip() == "§"
            return f"Paragraf {self._number(int(whole), decimals)}" if is_one else None
        if money := match["before"] or match["behind"]:
            amount = self._money(int(whole), decimals, language.money[money])
            return None if amount is None else sign + amount
        if match["unit"] == "%":
            return f"{sign}{self._percentage(int(whole), decimals)}"
        if match["unit"]:
            quantity = self._counted(int(whole), decimals, language.units[match["unit"]])
            return None if quantity is None else sign + quantity
        if language is GERMAN and written.isdigit() and int(whole) in _YEARS_IN_HUNDREDS:
            # Both a year and a quantity are said so.
            return sign + _in_hundreds(int(whole))
        if language is GERMAN and _MAYBE_ORDINAL.match(text, match.end()):
            return None
        words = self._number(int(whole), decimals)
        if not decimals and self._would_agree(words) and _NOUN_FOLLOWS.match(text, match.end(), end):
            before = text[max(0, match.start() - _CUE_CHARS) : match.start()]
            is_year = written.isdigit() and int(whole) in _YEARS and _YEAR_CUE.search(before)
            return words if is_year else None
        return sign + words

    def _would_agree(self, words: str) -> bool:
        language = self._language
        return bool(language.always_agrees.search(words) or language.agrees_feminine.search(words))

    def _number(self, whole: int, decimals: str) -> str:
        language = self._language
        words = cardinal(language, whole)
        if not decimals:
            return words
        if language.says_digits or decimals[0] == "0" or len(decimals) > 2:
            tail = " ".join(cardinal(language, int(digit)) for digit in decimals)
        else:
            tail = cardinal(language, int(decimals))
        return f"{words} {language.comma} {tail}"

    def _percentage(self, whole: int, decimals: str) -> str:
        if self._language is GERMAN and whole == 1 and not decimals:
            return "ein Prozent"
        return f"{self._number(whole, decimals)} {self._language.per_cent}"

    def _counted(self, whole: int, decimals: str, noun: Noun) -> str | None:
        if whole == 1 and not decimals:
            return noun.one
        words = self._number(whole, decimals)
        if self._language.always_agrees.search(words) and not decimals:
            return None
        if noun.is_feminine and self._language.agrees_feminine.search(words):
            return None
        return f"{words} {noun.many}"

    def _money(self, whole: int, decimals: str, noun: Noun) -> str | None:
        if len(decimals) != 2:
            return self._counted(whole, decimals, noun)
        amount = self._counted(whole, "", noun)
        if amount is None or int(decimals) == 0:
            return amount
        return f"{amount}{self._language.cents}{cardinal(self._language, int(decimals))}"


def _start(replacement: Replacement) -> int:
    return replacement.start


def _in_hundreds(number: int) -> str:
    """Neunzehnhundertvierundachtzig."""
    hundreds, rest = divmod(number, 100)
    return f"{cardinal(GERMAN, hundreds)}hundert{cardinal(GERMAN, rest) if rest else ''}"


def _french_ordinal(number: int, end: str) -> str | None:
    if number == 1:
        return {"er": "premier", "re": "première", "ère": "première"}.get(end)
    return ordinal(FRENCH, number) if end in ("e", "ème") and number > 1 else None


respell_german = NumberRules(GERMAN)
respell_french = NumberRules(FRENCH)
respell_spanish = NumberRules(SPANISH)
respell_italian = NumberRules(ITALIAN)
respell_portuguese = NumberRules(PORTUGUESE)
