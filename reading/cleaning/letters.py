"""Letters that stand for others: of mathematics, of full width, tied together, with joiners in between."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace

from reading.script.script import Replacement, Script
from reading.spelling.spoken import SpokenText

_SMALL = dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘǫʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnopqrstuvwyz", strict=True))
_ODD = re.compile(
    "\u00ad|(?<=[A-Za-zÀ-ӿ])[\u200b-\u200d\u2060]+(?=[A-Za-zÀ-ӿ])|[A-Za-zΑ-ӿ][\u0300-\u036f]+|"
    "[\ufb00-\ufb06\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\u2102\u210a-\u2112\u2115\u2119-\u211d\u2124\u2128"
    f"\u212c-\u2131\u2133\u2134\u24b6-\u24e9\U0001d400-\U0001d7ff]+|(?<!\\w)[{''.join(_SMALL)}x]{{2,}}(?!\\w)"
)


def folded(text: str) -> SpokenText:
    """The text as one types it, and where each of its letters comes from."""
    return SpokenText(text, [Replacement(each.start(), each.end(), _typed(each[0])) for each in _ODD.finditer(text)])


def with_folded_letters(script: Script, letters: SpokenText) -> Script:
    """letters: of the script's text, `folded`."""
    at = letters.from_source
    spans = tuple(
        replace(block, spans=tuple(replace(span, start=at(span.start), end=at(span.end)) for span in block.spans))
        for block in script.blocks
    )
    return replace(
        script,
        text=letters.text,
        blocks=spans,
        replacements=tuple(replace(each, start=at(each.start), end=at(each.end)) for each in script.replacements),
        chapters=tuple(replace(each, start=at(each.start)) for each in script.chapters),
    )


def _typed(odd: str) -> str:
    if odd[0] in "\u00ad\u200b\u200c\u200d\u2060":
        return ""
    return "".join(_SMALL.get(each, each) for each in unicodedata.normalize("NFKC", odd))
