"""English numbers as words."""

from __future__ import annotations

ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
SCALES = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred"))
BEYOND = 1000 * SCALES[0][0]
"""The first number that has no words here."""

_IRREGULAR_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}


def cardinal(number: int) -> str:
    """In words, below `BEYOND`."""
    if number < 20:
        return ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return f"{TENS[tens - 2]}-{ONES[ones]}" if ones else TENS[tens - 2]
    for size, name in SCALES:
        if number >= size:
            many, rest = divmod(number, size)
            words = f"{cardinal(many)} {name}"
            return f"{words} {cardinal(rest)}" if rest else words
    raise AssertionError("every number is below one of the scales")


def ordinal(number: int) -> str:
    words = cardinal(number)
    head, mark, last = words.rpartition("-") if "-" in words.rpartition(" ")[2] else words.rpartition(" ")
    if last in _IRREGULAR_ORDINALS:
        return f"{head}{mark}{_IRREGULAR_ORDINALS[last]}"
    return f"{head}{mark}{last[:-1]}ieth" if last.endswith("y") else f"{head}{mark}{last}th"


def year(number: int) -> str:
    """As years are said: nineteen eighty-four, two thousand five, twenty ten."""
    return paired(number) if 1010 <= number <= 1999 or 2010 <= number <= 2099 else cardinal(number)


def paired(number: int) -> str:
    """As numbers of rooms are said: two fourteen, three oh five, fourteen hundred."""
    hundreds, rest = divmod(number, 100)
    if number < 100 or number % 1000 == 0 or number > 9999:
        return cardinal(number)
    if rest == 0:
        return f"{cardinal(hundreds)} hundred"
    return f"{cardinal(hundreds)} {'oh ' if rest < 10 else ''}{cardinal(rest)}"


def digits(written: str) -> str:
    """One by one, as codes are read."""
    return " ".join(ONES[int(digit)] for digit in written)
