"""What has a colon: 9:05, 14:30, 06:00 hours, 2:03:59, and ratios. And 5pm, 10.30 a.m., 0600 hours, at 7.15."""

from __future__ import annotations

import re

from reading.english.rule import DASH, END, HYPHENATED, EnglishRule, after, before, quantity, rule
from reading.numbers.english_words import cardinal

_HALF = r"(?P<{0}half>[AaPp])\.?[Mm](?![\w])(?:\.(?=\s{{1,3}}[a-z0-9(]|[,;:?!)—–-]))?"
"""A full stop that also ends the sentence is left to it."""


def _clock(match: re.Match[str]) -> str | None:
    first = _time(match["hour"], match["minute"], match["half"])
    if not match["last_hour"]:
        return _on_the_hour(match) or first
    last = _time(match["last_hour"], match["last_minute"], match["last_half"])
    return f"{first} to {last}"


def _dotted(match: re.Match[str]) -> str | None:
    """A British time, where the words around it show one and no measure."""
    front, behind = before(match), after(match)
    if _MEASURED.search(f"{front} {behind}") or _CHANGED.search(front):
        return None
    is_shown = _SHOWN.match(behind) or (_BEGINS.search(front) and _GOES_TO.match(behind))
    is_time = is_shown or (_BEFORE_A_TIME.search(front) and _FREE.match(behind))
    return _time(match["hour"], match["minute"], None) if is_time else None


def _span(match: re.Match[str]) -> str | None:
    first = _time(match["first"], match["first_minute"], None)
    return f"{first} to {_time(match['hour'], match['minute'], match['half'])}"


def _time(hour: str, minute: str | None, half: str | None) -> str:
    suffix = f" {half.upper()} M" if half else ""
    hours = cardinal(int(hour))
    if not minute or (int(minute) == 0 and half):
        return f"{hours}{suffix}"
    if int(minute) == 0:
        return f"{hours} o'clock" if 1 <= int(hour) <= 12 else f"{hours} hundred"
    return f"{hours} {'oh ' if int(minute) < 10 else ''}{cardinal(int(minute))}{suffix}"


def _on_the_hour(match: re.Match[str]) -> str | None:
    """Of a service's clock: 06:00 hours."""
    if match["minute"] != "00" or not after(match).startswith((" hours", " hrs")):
        return None
    return f"{'oh ' if match['hour'][0] == '0' else ''}{cardinal(int(match['hour']))} hundred"


def _service(match: re.Match[str]) -> str | None:
    hour, minute = match["hour"], int(match["minute"])
    first = f"{'oh ' if hour[0] == '0' and hour != '00' else ''}{cardinal(int(hour))}"
    return f"{first} {'hundred' if minute == 0 else ('oh ' if minute < 10 else '') + cardinal(minute)}"


def _ratio(match: re.Match[str]) -> str | None:
    """What is called a ratio, or is neither a time nor a chapter of what a name stands for."""
    is_time = int(match["first"]) <= 24 and len(match["last"]) == 2 and match["last"] < "60"
    if not _RATIO.search(before(match)) and (is_time or _NAME_BEFORE.search(before(match))):
        return None
    return f"{quantity(match['first'])} to {quantity(match['last'])}"


def _duration(match: re.Match[str]) -> str | None:
    hours, minutes, seconds = (int(match[part]) for part in ("hours", "minutes", "seconds"))
    parts = [(hours, "hour"), (minutes, "minute"), (seconds, "second")]
    said = [f"{cardinal(many)} {name}{'' if many == 1 else 's'}" for many, name in parts]
    return f"{said[0]} {said[1]} and {said[2]}"


_NAME_BEFORE = re.compile(r"\b[A-Z][a-z'’]{1,20}\s\Z")
_RATIO = re.compile(r"\b(?:ratios?|odds|scale|aspect|mix(?:ed)?|dilut(?:ed?|ion))\b[^.;:]{0,24}\Z", re.IGNORECASE)

_DOTTED = r"(?:[01]?\d|2[0-4])\.[0-5]\d"
_BEFORE_A_TIME = re.compile(
    r"\b(?:(?:[Aa]t|[Bb]y|[Uu]ntil|[Tt]ill|[Bb]efore|[Aa]fter|[Ss]ince)(?:\s(?:about|around|exactly|nearly|almost|just))?|"
    rf"[Ff]rom\s{_DOTTED}\s(?:to|until|till)|[Bb]etween\s{_DOTTED}\sand|"
    r"(?:catch|caught|miss(?:ed)?|take|took)\sthe|(?:o['’]clock|noon|midnight|[ap]\.?m\.?)\s(?:to|and|or|until|till))\s\Z"
)
_FREE = re.compile(
    r"[.,;:!?)\"'”’—–]|\Z|\s(?:[A-Z\"“‘(—–]|(?:I|s?he|it|we|you|they|there|the|his|her|my|our|and|or|but|on|in|this|that|"
    r"until|till|when|as|with|without|for|from|had|was|were|is|today|tomorrow|yesterday|sharp|to\s(?!the\s[dep]))\b)"
)
_SHOWN = re.compile(
    r"\s(?:in\sthe\s(?:morning|afternoon|evening)|at\snight|tonight|this\s(?:morning|evening)|o['’]clock|"
    r"(?:[a-z]{4,8}\s)?(?:train|bus|boat|ferry|tram|coach|express|flight|mail))\b"
)
_BEGINS = re.compile(r"\b(?:[Ff]rom|[Bb]etween|[Tt]he)\s\Z")
_GOES_TO = re.compile(
    rf"\s(?:(?:to|from|for)\s[A-Z]|(?:to|until|till|and)\s(?:{_DOTTED}|\d\d?|noon)(?:\s?[ap]\.?m\b|{_FREE.pattern}))"
)
_CHANGED = re.compile(
    r"\b(?:r[oi]se[ns]?|gr[eo]wn?|f[ea]ll(?:en)?|dropped|climbed|(?:in|de)creased?|reduced|cut|rang(?:ed?|ing)|divided?|up|"
    r"multipl(?:y|ied)|down|won|lost|ahead|more|less)\s(?:\w{2,12}\s){0,2}(?:by|from|between)\s(?:[\d.]{1,5}\s\w{2,3}\s)?\Z",
    re.IGNORECASE,
)
_MEASURED = re.compile(
    r"[$£€%]|\b(?:per\s?cent|pounds?|dollars?|euros?|yen|shares?|stocks?|bonds?|prices?|priced|sold|trad(?:ed?|ing)|valued?|"
    r"rates?|yields?|index|inflation|averages?|mean|median|scores?|odds|values?|density|pH|magnitude|version|release|"
    r"up(?:grade|date)d?|software|Python|Linux|Ubuntu|iOS|Android|Windows|sections?|chapters?|Table|Fig(?:ure|\.)|"
    r"clauses?|articles?|paragraphs?|verses?|miles|metres|meters|kilometres)\b"
)

_DIGITS = "0123456789"
_HOUR = r"(?:[01]?\d|2[0-4])"
_COLON = rf"(?P<hour>{_HOUR}):(?P<minute>[0-5]\d)(?:\s?{_HALF.format('')})?"
_LAST_COLON = rf"(?P<last_hour>{_HOUR}):(?P<last_minute>[0-5]\d)(?:\s?{_HALF.format('last_')})?"
_HALVED = rf"(?P<hour>1[0-2]|[1-9])(?:[.:](?P<minute>[0-5]\d))?\s?{_HALF.format('')}"
_LAST_HALVED = rf"(?P<last_hour>1[0-2]|[1-9])(?:[.:](?P<last_minute>[0-5]\d))?\s?{_HALF.format('last_')}"
_FIRST_HOUR = r"(?P<first>1[0-2]|[1-9])(?::(?P<first_minute>[0-5]\d))?"
RULES: tuple[EnglishRule, ...] = (
    rule(_DIGITS, rf"(?P<first>\d{{1,3}}):(?P<last>\d{{1,3}}(?:,\d{{3}}){{0,2}})(?:{HYPHENATED}|{END})", _ratio),
    rule(_DIGITS, r"(?P<hour>[01]\d|2[0-4])(?P<minute>[0-5]\d)(?=\s(?:hours(?! of\b)|GMT|UTC)\b)", _service),
    rule(_DIGITS, rf"(?P<hours>\d{{1,2}}):(?P<minutes>[0-5]\d):(?P<seconds>[0-5]\d){END}", _duration),
    rule(_DIGITS, rf"{_COLON}(?:{DASH}{_LAST_COLON})?{END}", _clock),
    rule(_DIGITS, rf"{_FIRST_HOUR}{DASH}{_HALVED}{END}", _span),
    rule(_DIGITS, rf"{_HALVED}(?:{DASH}{_LAST_HALVED})?{END}", _clock),
    rule(_DIGITS, rf"(?P<hour>{_HOUR})\.(?P<minute>[0-5]\d){END}", _dotted),
)
