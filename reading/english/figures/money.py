"""Money: $5, £2.8m, 50¢, A $10 bill, US$40, €2 million, £5's worth."""

from __future__ import annotations

import re

from reading.english.figures.unit_names import PARTS
from reading.english.rule import (
    DASH,
    END,
    HYPHENATED,
    NUMBER,
    SIGN,
    SIGNED,
    EnglishRule,
    after,
    is_adjective,
    is_one,
    quantity,
    rule,
    with_sign,
)
from reading.languages.tables import one_of, table
from reading.numbers.english_words import cardinal

_UNITS = {
    "$": ("dollar", "dollars", "cent"),
    "£": ("pound", "pounds", "penny"),
    "€": ("euro", "euros", "cent"),
    "¥": ("yen", "yen", ""),
    "₹": ("rupee", "rupees", ""),
    "₽": ("ruble", "rubles", ""),
    "₩": ("won", "won", ""),
    "Rs.": ("rupee", "rupees", ""),
    "¢": ("cent", "cents", ""),
    "₪": ("shekel", "shekels", ""),
}
_COUNTRIES = table("US=U S|A=Australian|AU=Australian|C=Canadian|CA=Canadian|HK=Hong Kong|NZ=New Zealand")
_SCALES = table(
    """
    k=thousand|K=thousand|m=million|M=million|mn=million|bn=billion|b=billion|B=billion|tn=trillion|trn=trillion
    """
)
_ROUND = {"10": "tens", "100": "hundreds", "1000": "thousands", "1,000": "thousands", "1,000,000": "millions"}
_PAPER = re.compile(r"\s(?:bills?|notes?|coins?|tickets?|cheques?|checks?|fines?|pieces?|stamps?)\b")
_COIN = r"(?P<coin>[$£€¥₹₽₩₪]|Rs\.\s)"
_SCALE = rf"(?:(?P<letter>{one_of(_SCALES)})(?!\w)|[\s-](?P<scale>thousand|million|billion|trillion)\b)"


def _prefixed(match: re.Match[str]) -> str | None:
    one, many, part = _UNITS[match["coin"].strip()]
    scale = _SCALES[match["letter"]] if match["letter"] else match["scale"]
    country = f"{_COUNTRIES[match['country']]} " if match["country"] else ""
    first, last = match["amount"], match["last"]
    if part and not scale and not last and re.fullmatch(r"[\d,]{0,24}\.\d\d", first):
        return with_sign(match, f"{_with_cents(first, f'{country}{one}', f'{country}{many}', part)}{_per(match)}")
    amount = f"{quantity(first)} to {quantity(last)}" if last else quantity(first)
    words = f"{amount}{f' {scale}' if scale else ''}"
    is_single = is_adjective(match) or _PAPER.match(after(match)) or (is_one(first) and not scale and not last)
    return with_sign(match, f"{words} {country}{one if is_single else many}{_per(match)}")


def _per(match: re.Match[str]) -> str:
    """$12/hour."""
    return f" per {PARTS[match['per']]}" if match["per"] else ""


def _both_signed(match: re.Match[str]) -> str | None:
    one, many, _ = _UNITS[match["coin"]]
    first = f"{quantity(match['first'])} {one if is_one(match['first']) else many}"
    return f"{first} to {quantity(match['last'])} {many}"


def _with_cents(amount: str, one: str, many: str, part: str) -> str:
    whole, _, decimals = amount.replace(",", "").partition(".")
    main = f"{quantity(whole)} {one if int(whole or 0) == 1 else many}" if whole else ""
    if int(decimals) == 0:
        return main
    small = part if int(decimals) == 1 else {"penny": "pence"}.get(part, f"{part}s")
    parts = f"{cardinal(int(decimals))} {small}"
    return f"{main} and {parts}" if whole and int(whole) else parts


def _worth(match: re.Match[str]) -> str | None:
    one, many, _ = _UNITS[match["coin"]]
    owner = f"{one}'s" if is_one(match["amount"]) else f"{many}'"
    return f"{quantity(match['amount'])} {owner}"


def _plural(match: re.Match[str]) -> str | None:
    many = _UNITS[match["coin"]][1]
    return f"{_ROUND[match['amount']]} of {many}" if match["amount"] in _ROUND else None


def _suffixed(match: re.Match[str]) -> str | None:
    one, many, _ = _UNITS[match["coin"]]
    return f"{quantity(match['amount'])} {one if is_one(match['amount']) or is_adjective(match) else many}"


def _pence(match: re.Match[str]) -> str | None:
    return f"{cardinal(int(match['amount']))} p"


_DIGITS = "0123456789"
_FIRST = "$£€¥₹₽₩₪"
RULES: tuple[EnglishRule, ...] = (
    rule(_FIRST, rf"{_COIN}(?P<first>{NUMBER}){DASH}(?P=coin)(?P<last>{NUMBER}){END}", _both_signed),
    rule(_FIRST, rf"{_COIN}(?P<amount>{NUMBER})['’]s(?=\sworth\b)", _worth),
    rule(_FIRST, rf"{_COIN}(?P<amount>{NUMBER})s{END}", _plural),
    rule(
        f"{SIGNED}{_FIRST}UACHNR",
        rf"{SIGN}(?P<country>(?:US|AU|A|CA|C|HK|NZ)(?=\$))?{_COIN}"
        rf"\s?(?P<amount>{NUMBER})(?:{DASH}(?P<last>{NUMBER}))?(?:{_SCALE})?(?:/(?P<per>{one_of(PARTS)}))?(?:{HYPHENATED}|{END})",
        _prefixed,
    ),
    rule(_DIGITS, rf"(?P<amount>{NUMBER})\s?(?P<coin>[€£¢$¥₹₽₩₪]){END}", _suffixed),
    rule(_DIGITS, rf"(?P<amount>\d{{1,3}})p{END}", _pence),
)
