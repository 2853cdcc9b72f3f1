"""Figures that count nothing: codes, ZIP codes, rooms and flights, versions, network addresses, ISBN."""

from __future__ import annotations

import re

from reading.english.rule import END, ENDS_OR_OWNS, EnglishRule, after, before, rule
from reading.languages.tables import one_of, table
from reading.numbers.english_words import cardinal, digits, paired

_STATES = table(
    """
    AL=Alabama|AK=Alaska|AZ=Arizona|AR=Arkansas|CA=California|CO=Colorado|CT=Connecticut|DE=Delaware|DC=D C|FL=Florida
    GA=Georgia|HI=Hawaii|ID=Idaho|IL=Illinois|IN=Indiana|IA=Iowa|KS=Kansas|KY=Kentucky|LA=Louisiana|ME=Maine
    MD=Maryland|MA=Massachusetts|MI=Michigan|MN=Minnesota|MS=Mississippi|MO=Missouri|MT=Montana|NE=Nebraska|NV=Nevada
    NH=New Hampshire|NJ=New Jersey|NM=New Mexico|NY=New York|NC=North Carolina|ND=North Dakota|OH=Ohio|OK=Oklahoma
    OR=Oregon|PA=Pennsylvania|RI=Rhode Island|SC=South Carolina|SD=South Dakota|TN=Tennessee|TX=Texas|UT=Utah
    VT=Vermont|VA=Virginia|WA=Washington|WV=West Virginia|WI=Wisconsin|WY=Wyoming
    """
)
_CODE = re.compile(
    r"\b(?:(?:(?:[Pp]ass|[Pp]ost)?[Cc]ode|PIN|OTP|[Pp]assword|ZIP)(?:\s(?:number|is|was))?|Z[Ii][Pp] code|[Ee]xtension|"
    r"[Ee]xt\.|ext|(?:serial|account|reference|tracking|confirmation|order|badge|case|card)\s(?:number|no\.)"
    r"(?:\s(?:is|was))?):?\s\Z"
)
_CODE_AFTER = re.compile(r"\s(?:is|as)\s(?:your|the|my)\s(?:[\w-]{1,14}\s){0,2}(?:code|PIN|pass(?:word|code))\b")
_PLACE = re.compile(
    r"\b(?:[Rr]oom|[Ff]light|[Hh]ighway|[Rr]oute|[Ss]uite|[Gg]ate|[Cc]ell|[Tt]rain|[Bb]us|[Aa]partment|[Aa]pt\.|[Uu]nit|"
    r"[Ii]nterstate|[Ll]ocker|[Cc]abin|[Ss]eat|[Bb]uilding|[Bb]ldg\.|[Ww]ard|[Rr]m\.|Ste\.|Hwy\.|Rte\.|[Nn]o\.|"
    r"(?:P\.O\.|PO) Box|[Ff]light\s[A-Z]{2})(?:\s|s\s(?:[A-Z]?\d{1,5}[A-Z]?(?:,|,?\s(?:and|or|to))\s){0,3})\Z"
)
_NEAR = 24
_STATE = re.compile(
    rf"(?:,\s(?:{one_of(_STATES)}|[A-Z][a-z]{{2,12}}(?:\s[A-Z][a-z]{{2,12}})?)|\s(?:{one_of(_STATES)}))\s\Z"
)
_COUNTED = re.compile(r"\s[a-z]{3,16}s\b")
_ISBN = re.compile(r"\bISBN(?:-1[03])?:?\s(?:(?:is|was)\s)?\Z")
_GROUP = re.compile(r"[0-9]{1,13}|X")


def _code(match: re.Match[str]) -> str | None:
    is_code = _CODE.search(before(match)) or _CODE_AFTER.match(after(match))
    return _groups(match.group()) if is_code else None


def _groups(written: str) -> str:
    return ", ".join("X" if group == "X" else digits(group) for group in _GROUP.findall(written))


def _zip(match: re.Match[str]) -> str | None:
    return _groups(match.group()) if _STATE.search(before(match)) and not _COUNTED.match(after(match)) else None


def _place(match: re.Match[str]) -> str | None:
    front = before(match)[-_NEAR:]
    if not _PLACE.search(front) or _COUNTED.match(after(match)) or (front.endswith("o. ") and not match["letter"]):
        return None
    written = match["number"]
    number = digits(written) if written[0] == "0" or len(written) > 4 else paired(int(written))
    return " ".join((*(match["front"] or ""), number, *(match["letter"] or "")))


def _isbn(match: re.Match[str]) -> str | None:
    return _groups(match.group()) if _ISBN.search(before(match)) else None


def _isbn_of(match: re.Match[str]) -> str | None:
    return f"I S B N {cardinal(int(match['number']))}"


def _dotted(match: re.Match[str]) -> str | None:
    """A version, a numbered section, or an address; what may be thousands or a date stays."""
    parts = match.group().split(".")
    is_address = len(parts) == 4 and all(int(part) < 256 for part in parts)
    if not is_address and (len(parts[-1]) > 2 or any(len(part) > 1 and part[0] == "0" for part in parts)):
        return None
    return (" dot " if is_address else " point ").join(map(_piece, parts))


def _piece(part: str) -> str:
    return cardinal(int(part)) if part == "0" or (len(part) < 3 and part[0] != "0") else digits(part)


_DIGITS = "0123456789"
RULES: tuple[EnglishRule, ...] = (
    rule(_DIGITS, rf"\d{{1,5}}-\d{{1,7}}-\d{{1,7}}-(?:\d{{1,6}}-)?[\dX]{END}|\d{{9,13}}X?{END}", _isbn),
    rule(_DIGITS, rf"\d{{3,12}}(?:[\s-]\d{{2,6}}){{0,3}}{END}", _code),
    rule(_DIGITS, rf"\d{{5}}(?:-\d{{4}})?{END}", _zip),
    rule("ACDFGHIKLMNOPRSTUVW", rf"(?:{one_of(_STATES)})(?=\s\d{{5}}(?:-\d{{4}})?{END})", _STATES),
    rule(
        f"{_DIGITS}ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        rf"(?P<front>[A-Z]{{1,2}})?(?P<number>\d{{1,5}})(?P<letter>[A-Z])?{ENDS_OR_OWNS}",
        _place,
    ),
    rule("I", r"ISBN-(?P<number>1[03])(?=:?\s)", _isbn_of),
    rule(_DIGITS, rf"\d{{1,3}}(?:\.\d{{1,4}}){{2,3}}{END}", _dotted),
)
