"""Letters that stand for others: of mathematics, of full width, tied together, with joiners in between."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from reading.script.script import Replacement

_SMALL = dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘǫʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnopqrstuvwyz", strict=True))
_ODD = re.compile(
    "\u00ad|(?<=[A-Za-zÀ-ӿ])[\u200b-\u200d\u2060]+(?=[A-Za-zÀ-ӿ])|[A-Za-zΑ-ӿ][\u0300-\u036f]+|"
    "[\ufb00-\ufb06\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\u2102\u210a-\u2112\u2115\u2119-\u211d\u2124\u2128"
    f"\u212c-\u2131\u2133\u2134\u24b6-\u24e9\U0001d400-\U0001d7ff]+|(?<!\\w)[{''.join(_SMALL)}x]{{2,}}(?!\\w)"
)

_ANY = re.compile(
    "[\u00ad\u0250-\u036f\u1d00-\u1d7f\u200b-\u200d\u2060\u2102-\u2134\u24b6-\u24e9\ua730-\ua7ff\ufb00-\ufb06\uff10-\uff5a"
    "\U0001d400-\U0001d7ff]"
)
"""One of these is in whatever `_ODD` finds; most texts have none."""


def find_odd_letters(text: str) -> Iterator[Replacement]:
    """In order, each with what one types for it."""
    for match in _ODD.finditer(text) if _ANY.search(text) else ():
        yield Replacement(match.start(), match.end(), _typed(match[0]))


def typed_letters(text: str) -> str:
    """The text as one types it."""
    return _ODD.sub(lambda match: _typed(match[0]), text) if _ANY.search(text) else text


def _typed(odd: str) -> str:
    if odd[0] in "\u00ad\u200b\u200c\u200d\u2060":
        return ""
    return "".join(_SMALL.get(each, each) for each in unicodedata.normalize("NFKC", odd))
