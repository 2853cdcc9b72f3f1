"""Measures behind a number: 5 km, 20m², 3.2 GHz, 45 min., a 35mm camera, 5–10%."""

from __future__ import annotations

import re

from reading.english.figures.fractions import FRACTION, SIGNS, measured
from reading.english.figures.unit_names import FORMS, PARTS
from reading.english.rule import (
    DASH,
    END,
    HYPHENATED,
    NUMBER,
    SIGN,
    SIGNED,
    EnglishRule,
    after,
    before,
    is_adjective,
    is_one,
    quantity,
    rule,
    with_sign,
)
from reading.languages.tables import one_of
from reading.numbers.english_words import paired

_SPACED = ("m", "g", "W", "V", "ac", "mi", "cal", "pt", "gal", "ha", "ms")
"""So short that they are units only behind a space: 5m may be five million, 3V a part's name."""

_FAST = tuple(unit for unit in FORMS if unit not in (*_SPACED, "in", "m2", "m3"))

_FEET_BEFORE = re.compile(r"(?:\b(?:ft\.?|feet|foot|by|x)|×)\s\Z")
_SIDE_BEFORE = re.compile(rf"(?:[\d{SIGNS}]['′\"″]?|\d\s?(?:{one_of(FORMS)})\.?)\s\Z")


def _measure(match: re.Match[str]) -> str | None:
    unit = match["unit"] or match["spaced"] or match["inch"]
    if match["first_unit"] not in (None, unit) or (match["inch"] and not _is_inch(match)):
        return None
    one, many = ("point", "points") if unit == "pts" and not after(match).startswith(" of ") else FORMS[unit]
    return with_sign(match, f"{_amount(match)} {one if is_adjective(match) or _is_single(match) else many}")


def _amount(match: re.Match[str]) -> str:
    amount = quantity(match["amount"])
    if not match["last"]:
        return amount
    return f"{amount} {'plus or minus' if '±' in match['joint'] else 'to'} {quantity(match['last'])}"


def _is_single(match: re.Match[str]) -> bool:
    return is_one(match["amount"]) and not match["last"]


def _per(match: re.Match[str]) -> str | None:
    """A unit that is known, or a word in the plural, for each of another: 30 km/s, 186,000 miles/s."""
    written = match["unit"]
    if match["many"] and match["per"] not in FORMS:
        return None
    if match["first_unit"] not in (None, f"{written}/{match['per']}"):
        return None
    if written not in FORMS and not (written.islower() and written.endswith("s") and len(written) > 3):
        return None
    one, many = FORMS.get(written, (written, written))
    part = f"{quantity(match['many'])} {FORMS[match['per']][1]}" if match["many"] else PARTS[match["per"]]
    return with_sign(match, f"{_amount(match)} {one if _is_single(match) else many} per {part}")


def _side(match: re.Match[str]) -> str | None:
    return "by" if _SIDE_BEFORE.search(before(match)) else None


def _blood_pressure(match: re.Match[str]) -> str | None:
    if not match["unit"] and "pressure" not in before(match):
        return None
    words = f"{paired(int(match['first']))} over {paired(int(match['last']))}"
    return f"{words} millimeters of mercury" if match["unit"] else words


def _fraction(match: re.Match[str]) -> str | None:
    return measured(match, *FORMS[match["unit"]])


def _is_inch(match: re.Match[str]) -> bool:
    return match.group().endswith(".") or after(match).startswith(" ") or _FEET_BEFORE.search(before(match)) is not None


_MORE = r"[\w²³/·]|\s\w{1,3}⁻"
_GOES_ON = r"(?:(?<=[a-z])\.(?=\s{1,3}[a-z0-9(]|[,;:!?)—–]))?"
"""A unit's full stop that ends no sentence."""

_BEHIND = r"(?=-[a-z]|[.,;:!?)\]}\"'”’]{0,6}+(?:\s(?!\d{1,5}(?:st|nd|rd|th)\b)|—|–|…|[-\[†‡*]|\Z))"
RULES: tuple[EnglishRule, ...] = (
    rule("x×", r"[x×](?=\s\d)", _side),
    rule(
        f"{SIGNED}.0123456789",
        rf"{SIGN}(?P<amount>{NUMBER})(?:(?:\s?(?P<first_unit>[A-Za-z°]{{1,4}}/[a-z]{{1,4}}))?"
        rf"(?P<joint>{DASH}|\s?±\s?)(?P<last>{NUMBER}))?[\s-]?"
        rf"(?P<unit>[A-Za-zµμΩΩ°²³]{{1,12}}+)/(?:(?P<many>[1-9]\d{{1,3}})\s?)?(?P<per>{one_of(PARTS)})(?:{HYPHENATED}|{END})",
        _per,
    ),
    rule("123456789", rf"(?P<first>\d{{2,3}})/(?P<last>\d{{2,3}})(?P<unit>\s?mmHg)?{END}", _blood_pressure),
    rule(f"{SIGNS}0123456789", rf"{FRACTION}[\s-]?(?P<unit>{one_of(_FAST)})(?!{_MORE}){_GOES_ON}{_BEHIND}", _fraction),
    rule(
        f"{SIGNED}.0123456789",
        rf"{SIGN}(?P<amount>{NUMBER})(?:(?P<first_unit>{one_of(_FAST)})?(?P<joint>{DASH}|\s?±\s?)(?P<last>{NUMBER}))?"
        rf"(?:[\s-]?(?P<unit>{one_of(_FAST)})(?!{_MORE})|[\s-](?P<spaced>{one_of(_SPACED)})(?!{_MORE}|['’&])"
        rf"|\s(?P<inch>in)(?=[.,;:!?)]|\Z|\s(?:tall|high|long|wide|deep|thick)\b)){_GOES_ON}{_BEHIND}",
        _measure,
    ),
)
