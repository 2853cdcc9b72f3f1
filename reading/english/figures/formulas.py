"""Equations of simple terms, powers and roots, and chemical formulas. What holds anything else stays as a whole."""

from __future__ import annotations

import re
import unicodedata

from reading.english.figures.unit_names import FORMS
from reading.english.rule import END, ENDS_OR_OWNS, NUMBER, EnglishRule, after, before, quantity, rule
from reading.languages.tables import one_of, table, words
from reading.numbers.english_words import cardinal, ordinal, paired

_OPERATORS = {"=": "equals"} | table(
    """
    +=plus|-=minus|−=minus|×=times|*=times|÷=divided by|<=is less than|>=is greater than
    ≤=is less than or equal to|≥=is greater than or equal to|≠=does not equal|≈=is about|±=plus or minus
    /=divided by
    """
)
_SURE = frozenset("+×÷=<>≤≥≠≈*")
_POWERS = {"²": "squared", "³": "cubed", "2": "squared", "3": "cubed"}
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_CHEMICALS = frozenset(
    words(
        """
    H2O CO2 SO2 NO2 N2O CH4 NH3 H2SO4 HNO3 H2O2 C6H12O6 Fe2O3 CaCO3 NaHCO3 CaCl2 MgCl2 SiO2 Al2O3 TiO2 C2H5OH
    C2H6 C3H8 CCl4 H2S SO3 SF6 UF6 KMnO4 Na2CO3 H3PO4 O2 N2 H2 O3 Cl2 N2O4 Fe3O4 PO4 SO4 NO3 NH4 C2H4 C2H2 C6H6
    CO3 NaCl KCl HCl NaOH KOH CuSO4 AgNO3
    """
    )
)
_GREEK_LETTERS = "αβγδεζηθικλμνξπρσςτυφχψωΓΔΘΛΞΠΣΦΨΩ"
_GREEK = re.compile(f"[{_GREEK_LETTERS}]")
_GREEK_WORD = re.compile("[\u0370-\u03ff\u1f00-\u1fff]{2}")
_ATOM = re.compile(r"[A-Z][a-z]?|\d{1,3}")
_TERM = rf"[√±−-]?(?:{NUMBER}[a-z]?(?![A-Za-z])|[A-Za-z{_GREEK_LETTERS}]{{1,2}}(?![A-Za-z]))(?:[²³]|\^\d{{1,2}})?"
_TERM_PARTS = re.compile(
    rf"(?P<sign>[√±−-])?(?:(?P<number>{NUMBER})(?P<factor>[a-z])?|(?P<letters>[A-Za-z{_GREEK_LETTERS}]{{1,2}}))(?:(?P<power>[²³])|\^(?P<exponent>\d{{1,2}}))?"
)
_OPERATOR = r"[+×÷=<>≤≥≠≈*−/-]"
_FACTOR = re.compile(r"\d[a-z]\b")
_PER_UNIT = re.compile(r"\s[A-Za-zµμΩ]{1,3}[/·²³⁻]")
_SIGNS = {"√": "the square root of ", "±": "plus or minus ", "-": "minus ", "−": "minus "}
_OPEN = re.compile(r"[=+×÷<>≤≥≠≈*/^(]\s?\Z")


def _equation(match: re.Match[str]) -> str | None:
    if _OPEN.search(before(match)) or not (_SURE & set(match.group()) or _FACTOR.search(match.group())):
        return None
    words, wants_term = [], True
    for token in match["all"].split():
        said = _term(token) if wants_term else _OPERATORS.get(token)
        if said is None:
            return None
        words.append(said)
        wants_term = not wants_term
    return " ".join(words)


def _lone(match: re.Match[str]) -> str | None:
    return None if _OPEN.search(before(match)) else _term(match.group())


def _term(written: str) -> str | None:
    parts = _TERM_PARTS.fullmatch(written)
    if parts is None:
        return None
    named = " ".join(_letter(letter) for letter in parts["letters"] or parts["factor"] or "")
    base = f"{quantity(parts['number'])} {named}".rstrip() if parts["number"] else named
    sign = _SIGNS[parts["sign"]] if parts["sign"] else ""
    if parts["power"]:
        return f"{sign}{base} {_POWERS[parts['power']]}"
    if parts["exponent"]:
        power = _POWERS.get(parts["exponent"]) or f"to the {ordinal(int(parts['exponent']))}"
        return f"{sign}{base} {power}"
    return f"{sign}{base}"


def _greek(match: re.Match[str]) -> str | None:
    """A letter that no Greek word stands beside."""
    return None if _GREEK_WORD.search(f"{before(match)[-20:]} {after(match)[:20]}") else _letter(match.group())


def _letter(written: str) -> str:
    if not _GREEK.match(written):
        return written
    return unicodedata.name(written).rpartition(" ")[2].lower().replace("lamda", "lambda")


def _numbered(match: re.Match[str]) -> str | None:
    """U-235, B-52, F-16."""
    return f"{match['letter']} {paired(int(match['number']))}"


def _by(match: re.Match[str]) -> str | None:
    return f"{quantity(match['first'])} by {quantity(match['last'])}"


def _power_of_ten(match: re.Match[str]) -> str | None:
    if _OPEN.search(before(match)) or _PER_UNIT.match(after(match)):
        return None
    written = unicodedata.normalize("NFKC", match["raised"])
    power = f"{'minus ' if written[0] == '−' else ''}{ordinal(int(written.lstrip('−')))}"
    factor = f"{quantity(match['factor'])} times " if match["factor"] else ""
    return f"{factor}ten to the {power}{f' {FORMS[unit][1]}' if (unit := match['unit']) else ''}"


def _chemical(match: re.Match[str]) -> str | None:
    formula = match.group().translate(_SUBSCRIPTS)
    if formula == match.group() and formula not in _CHEMICALS:
        return None
    atoms = _ATOM.findall(formula)
    return " ".join(cardinal(int(atom)) if atom.isdecimal() else " ".join(atom.upper()) for atom in atoms)


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_STARTS = f"√±−-.0123456789{_LETTERS}{_GREEK_LETTERS}"
_UNITS = one_of(FORMS.keys() - {"in"})
RULES: tuple[EnglishRule, ...] = (
    rule(_STARTS, rf"(?P<all>{_TERM}(?:\s{_OPERATOR}\s{_TERM}){{1,8}})(?!\s?[=+×÷<>≤≥≠≈*/^(]){END}", _equation),
    rule("√±", rf"{_TERM}{END}", _lone),
    rule(_GREEK_LETTERS, rf"[{_GREEK_LETTERS}](?:(?=-[a-z])|{ENDS_OR_OWNS})", _greek),
    rule("p", rf"pH{END}", "P H"),
    rule("ABCDEFGHIJKLMNOPQRSTUVWXYZ", rf"(?P<letter>[A-Z])-(?P<number>[1-9]\d{{0,2}}){END}", _numbered),
    rule("0123456789", rf"{NUMBER}(?:[²³]|\^\d{{1,2}}){END}", _lone),
    rule(
        "0123456789",
        rf"(?:(?P<factor>{NUMBER})\s?[×·]\s?)?10(?P<raised>⁻?[⁰¹²³⁴-⁹]{{1,2}})(?:\s(?P<unit>{_UNITS}))?{END}",
        _power_of_ten,
    ),
    rule(_LETTERS, rf"[A-Za-z](?:[²³]|\^\d){END}", _lone),
    rule("0123456789", rf"(?P<first>{NUMBER})(?:\s?×\s?|x|\sx\s)(?P<last>{NUMBER}){END}", _by),
    rule("ABCDEFGHIJKLMNOPQRSTUVWXYZ", rf"(?:[A-Z][a-z]?(?:\d{{1,2}}|[₀-₉]{{1,2}})?){{1,6}}{END}", _chemical),
)
