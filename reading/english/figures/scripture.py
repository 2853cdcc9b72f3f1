"""Verses of the Bible, by book and chapter: John 3:16, 1 Cor. 13:4-7."""

from __future__ import annotations

import re

from reading.english.rule import DASH, END, EnglishRule, before, rule
from reading.languages.tables import one_of, table, words
from reading.numbers.english_words import cardinal

_SHORT_BOOKS = table(
    """
    Gen=Genesis|Ex=Exodus|Exod=Exodus|Lev=Leviticus|Num=Numbers|Deut=Deuteronomy|Josh=Joshua|Judg=Judges|Sam=Samuel
    Chron=Chronicles|Neh=Nehemiah|Ps=Psalm|Pss=Psalms|Prov=Proverbs|Eccl=Ecclesiastes|Isa=Isaiah|Jer=Jeremiah
    Lam=Lamentations|Ezek=Ezekiel|Dan=Daniel|Hos=Hosea|Mic=Micah|Hab=Habakkuk|Zech=Zechariah|Mal=Malachi
    Matt=Matthew|Mt=Matthew|Mk=Mark|Lk=Luke|Jn=John|Rom=Romans|Cor=Corinthians|Gal=Galatians|Eph=Ephesians
    Phil=Philippians|Col=Colossians|Thess=Thessalonians|Tim=Timothy|Heb=Hebrews|Jas=James|Pet=Peter|Rev=Revelation
    """
)
_BOOKS = (
    *_SHORT_BOOKS,
    *_SHORT_BOOKS.values(),
    *words("Ruth Kings Ezra Esther Job Songs Joel Amos Obadiah Jonah Nahum Zephaniah Haggai Acts Titus Philemon Jude"),
    *words("Maccabees Tobit Judith Sirach Surah Sura Quran Qur'an"),
)
_BOOK_BEFORE = re.compile(rf"\b(?:{one_of(_BOOKS)})\.?\s(?:\d{{1,3}}:\d{{1,3}}(?:[-–]\d{{1,3}})?[;,]\s)?\Z")


def _verse(match: re.Match[str]) -> str | None:
    """Of the Bible, by chapter: John 3:16."""
    if not _BOOK_BEFORE.search(before(match)):
        return None
    said = f"{cardinal(int(match['chapter']))} {cardinal(int(match['verse']))}"
    return f"{said} to {cardinal(int(match['last']))}" if match["last"] else said


_FIRST_BOOKS = {"1": "First", "2": "Second", "3": "Third"}
_DIGITS = "0123456789"
_VERSE = rf"(?P<chapter>\d{{1,3}}):(?P<verse>\d{{1,3}})(?:{DASH}(?P<last>\d{{1,3}}))?"
RULES: tuple[EnglishRule, ...] = (
    rule(_DIGITS, rf"{_VERSE}{END}", _verse),
    rule(
        "".join({name[0] for name in _SHORT_BOOKS}),
        rf"(?P<book>{one_of(_SHORT_BOOKS)})\.?(?=\s\d{{1,3}}:\d)",
        _SHORT_BOOKS,
    ),
    rule("123", rf"(?P<number>[123])(?=\s(?:{one_of(_BOOKS)})\.?\s\d{{1,3}}:\d)", _FIRST_BOOKS),
)
