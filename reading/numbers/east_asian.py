"""Numbers, money and units as words in Chinese, Japanese and Korean. Other forms stay unchanged: unlisted counters of
Korean numbers, dates in figures, versions, codes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reading.languages.tables import table
from reading.script.script import Replacement

MAX_DIGITS = 16
_FOUR = 4


@dataclass(frozen=True, slots=True)
class Numerals:
    """digits: zero to nine. places: from tens. myriads: from ten thousand. leaves_one_out: before a place or myriad.

    skipped: what stands for places without a digit, "" if nothing does. gap: between a myriad and what follows.
    """

    digits: str
    places: str
    myriads: str
    point: str
    minus: str
    leaves_one_out: bool
    skipped: str = ""
    gap: str = ""


CHINESE = Numerals("零一二三四五六七八九", "十百千", "万亿兆", "点", "负", leaves_one_out=False, skipped="零")
JAPANESE = Numerals("〇一二三四五六七八九", "十百千", "万億兆", "点", "マイナス", leaves_one_out=True)
KOREAN = Numerals("영일이삼사오육칠팔구", "십백천", "만억조", " 점 ", "마이너스 ", leaves_one_out=True, gap=" ")

_CHINESE_UNITS = {"km": "公里", "cm": "厘米", "mm": "毫米", "kg": "公斤", "mg": "毫克", "°C": "摄氏度", "℃": "摄氏度"}
_JAPANESE_UNITS = table(
    "km=キロメートル|cm=センチメートル|mm=ミリメートル|kg=キログラム|mg=ミリグラム|%=パーセント|％=パーセント|°C=度|℃=度"
)
_KOREAN_UNITS = table(
    """
    km=킬로미터|cm=센티미터|mm=밀리미터|kg=킬로그램|mg=밀리그램|%=퍼센트|％=퍼센트|°C=도|℃=도
    """
)
_MONEY = {
    "zh": {"¥": "元", "￥": "元", "$": "美元", "€": "欧元", "£": "英镑"},
    "ja": {"¥": "円", "￥": "円", "$": "ドル", "€": "ユーロ", "£": "ポンド"},
    "ko": {"₩": "원", "$": "달러", "€": "유로", "£": "파운드"},
}

_CHINESE_PAIR = re.compile(r"[个位次天本只条件块岁张把座家间辆层种倍年杯瓶双份]|公里|公斤|小时|分钟|个月|美元|欧元|元")
"""Two of these are 两, not 二."""

_KOREAN_OWN = ("", "한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉")
_KOREAN_OWN_TENS = ("", "열", "스물", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔")
_KOREAN_OWN_COUNTERS = re.compile(
    r"\s?(?:개월|개|명|시간|시(?![가-힣])|시(?=에|쯤|까지|부터)|살|마리|잔|병|켤레|송이|그루|채)"
)
_KOREAN_COUNTERS = re.compile(
    r"\s?(?:년|월|일|분|초|원|쪽|층|호|세기|킬로|미터|센티|그램|톤|도|달러|유로|퍼센트|페이지|번지|만|억|조|주년|권|위)"
)
_HALF_DAY = 12
"""Hours beyond are counted in Chinese."""

_CODE_BEFORE = r"(?<![A-Za-z\d.,/:+#°-])"
_CODE_BEHIND = r"(?![A-Za-z\d/°]|[.,:-]\d|[-–~〜]\d)"
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"


def words_of(numerals: Numerals, number: int) -> str:
    """A number below 10^16, in words."""
    if number == 0:
        return numerals.digits[0]
    groups: list[str] = []
    rest, myriad, lower_is_full = number, 0, True
    while rest:
        rest, four = divmod(rest, 10**_FOUR)
        if four:
            words = _below_myriad(numerals, four, is_first=rest == 0)
            if myriad:
                # 만 in Korean; 一万 in Japanese and Chinese keeps its one.
                words = "" if four == 1 and rest == 0 and numerals is KOREAN and myriad == 1 else words
                words += numerals.myriads[myriad - 1]
            if groups and not lower_is_full and numerals.skipped and not groups[0].startswith(numerals.skipped):
                groups[0] = numerals.skipped + groups[0]
            groups.insert(0, words)
        lower_is_full = four >= 10 ** (_FOUR - 1)
        myriad += 1
    return numerals.gap.join(groups)


def _below_myriad(numerals: Numerals, number: int, *, is_first: bool) -> str:
    words = ""
    owes_skip = False
    for place in range(_FOUR - 1, -1, -1):
        digit = number // 10**place % 10
        if not digit:
            owes_skip = bool(words)
            continue
        words += numerals.skipped if owes_skip else ""
        owes_skip = False
        name = numerals.places[place - 1] if place else ""
        is_ten_alone = place == 1 and not words and is_first
        leaves_out = digit == 1 and place and (numerals.leaves_one_out or is_ten_alone)
        words += name if leaves_out else numerals.digits[digit] + name
    return words


def digits_of(numerals: Numerals, written: str) -> str:
    return "".join(numerals.digits[int(digit)] for digit in written)


def _pattern(units: Mapping[str, str], money: Mapping[str, str]) -> re.Pattern[str]:
    unit = "|".join(re.escape(name) for name in sorted(units, key=len, reverse=True)) or "(?!)"
    sign = "|".join(re.escape(name) for name in money)
    return re.compile(
        rf"""{_CODE_BEFORE}(?:
            (?P<hour>[01]?\d|2[0-4]):(?P<minute>[0-5]\d)(?!:)
          | (?P<before>{sign})\s?(?P<amount>{_NUMBER})
          | (?P<minus>[-−])?(?P<number>{_NUMBER})(?:\s?(?:(?P<behind>{sign})|(?P<unit>{unit})))?
        ){_CODE_BEHIND}""",
        re.VERBOSE,
    )


_CHINESE = _pattern({**_CHINESE_UNITS, "%": "", "％": ""}, _MONEY["zh"])
_JAPANESE = _pattern(_JAPANESE_UNITS, _MONEY["ja"])
_KOREAN = _pattern(_KOREAN_UNITS, _MONEY["ko"])


def respell_chinese(text: str, start: int, end: int) -> Iterator[Replacement]:
    for match in _CHINESE.finditer(text, start, end):
        behind = text[match.end() : min(end, match.end() + 2)]
        if match["hour"]:
            spoken = _clock(match, CHINESE, "点", "分", "零")
        elif money := match["before"] or match["behind"]:
            spoken = _counted(CHINESE, match["amount"] or match["number"], _MONEY["zh"][money])
        elif match["unit"] in ("%", "％"):
            spoken = _prefixed("百分之", _number(CHINESE, match["number"]))
        elif match["unit"]:
            spoken = _counted(CHINESE, match["number"], _CHINESE_UNITS[match["unit"]])
        elif behind.startswith("年") and len(match["number"]) == _FOUR and match["number"].isdigit():
            spoken = digits_of(CHINESE, match["number"])
        elif match["number"] == "2" and _CHINESE_PAIR.match(behind):
            spoken = "两"
        else:
            spoken = _number(CHINESE, match["number"])
        yield from _replacement(match, spoken, CHINESE)


def respell_japanese(text: str, start: int, end: int) -> Iterator[Replacement]:
    for match in _JAPANESE.finditer(text, start, end):
        if match["hour"]:
            spoken = _clock(match, JAPANESE, "時", "分", "")
        elif money := match["before"] or match["behind"]:
            spoken = _counted(JAPANESE, match["amount"] or match["number"], _MONEY["ja"][money])
        else:
            spoken = _counted(JAPANESE, match["number"], _JAPANESE_UNITS.get(match["unit"] or "", ""))
        yield from _replacement(match, spoken, JAPANESE)


def respell_korean(text: str, start: int, end: int) -> Iterator[Replacement]:
    """Numbers of Chinese origin before what is counted with them, Korea's own before the rest that is known."""
    for match in _KOREAN.finditer(text, start, end):
        number = match["number"] or ""
        if match["hour"]:
            spoken = _korean_clock(match)
        elif money := match["before"] or match["behind"]:
            spoken = _spaced(_number(KOREAN, match["amount"] or number), _MONEY["ko"][money])
        elif match["unit"]:
            spoken = _spaced(_number(KOREAN, number), _KOREAN_UNITS[match["unit"]])
        elif own := _KOREAN_OWN_COUNTERS.match(text, match.end(), end):
            is_late_hour = own.group().endswith("시") and number.isdigit() and int(number) > _HALF_DAY
            is_own = not own.group().endswith("개월") and not is_late_hour
            spoken = _korean_own(number) if is_own else _number(KOREAN, number)
            spoken = _spaced(spoken, "") if own.group().startswith(" ") else _spaced(spoken, " ")
        elif _KOREAN_COUNTERS.match(text, match.end(), end) or not re.match(r"\s?[가-힣]", text[match.end() : end][:2]):
            spoken = _number(KOREAN, number)
        else:
            spoken = None
        yield from _replacement(match, spoken, KOREAN)


def _replacement(match: re.Match[str], spoken: str | None, numerals: Numerals) -> Iterator[Replacement]:
    if spoken is not None:
        sign = numerals.minus if match["minus"] else ""
        yield Replacement(match.start(), match.end(), sign + spoken)


def _number(numerals: Numerals, written: str) -> str | None:
    """None for what is a code: too long, or beginning with a zero."""
    whole, _, decimals = written.replace(",", "").partition(".")
    if len(whole) > MAX_DIGITS or (len(whole) > 1 and whole[0] == "0"):
        return None
    words = words_of(numerals, int(whole))
    return f"{words}{numerals.point}{digits_of(numerals, decimals)}" if decimals else words


def _counted(numerals: Numerals, written: str, noun: str) -> str | None:
    words = _number(numerals, written)
    if words is None:
        return None
    return f"两{noun}" if numerals is CHINESE and written == "2" and noun else f"{words}{noun}"


def _prefixed(prefix: str, words: str | None) -> str | None:
    return None if words is None else prefix + words


def _spaced(words: str | None, noun: str) -> str | None:
    return None if words is None else f"{words} {noun}" if noun.strip() else f"{words}{noun}"


def _clock(match: re.Match[str], numerals: Numerals, hours: str, minutes: str, zero: str) -> str:
    hour, minute = int(match["hour"]), int(match["minute"])
    said = "两" if numerals is CHINESE and hour == 2 else words_of(numerals, hour)
    if minute == 0:
        return said + hours
    return f"{said}{hours}{zero if minute < 10 else ''}{words_of(numerals, minute)}{minutes}"


def _korean_clock(match: re.Match[str]) -> str:
    hour, minute = int(match["hour"]), int(match["minute"])
    said = _korean_own(str(hour)) if 1 <= hour <= 12 else words_of(KOREAN, hour)
    return f"{said} 시" + (f" {words_of(KOREAN, minute)} 분" if minute else "")


def _korean_own(written: str) -> str | None:
    """One to ninety-nine before a counter; larger ones are counted in Chinese."""
    if not written.isdigit() or not 1 <= int(written) <= 99:
        return _number(KOREAN, written)
    tens, ones = divmod(int(written), 10)
    if tens == 2 and ones == 0:
        return "스무"
    return _KOREAN_OWN_TENS[tens] + _KOREAN_OWN[ones]
