"""Markdown in the text of a call, as chats write it: read as a document is, where it is certainly Markdown."""

from __future__ import annotations

import re

from api.http.problems.problem import invalid_field
from api.openai.leniency import Wish
from reading.documents.errors import DocumentError
from reading.documents.markdown_document import markdown_script
from reading.spelling.spoken import SpokenText

_CERTAIN = re.compile(
    r"^[ ]{0,3}(?:#{1,6}[ \t]+\S|`{3}[\w+#-]*[ \t]*$|\*[ \t]+\S[^\n]*\n[ ]{0,3}\*[ \t]+\S|"
    r"\|(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*$)|"
    r"(?<![\w*])(?P<stars>\*{1,3})[^\W_][^*\n]{0,300}(?<!\s)(?P=stars)(?![\w*])|(?<![\w`])`[^`\n]{1,300}`(?![\w`])|"
    r"\[[^\[\]\n]{1,300}\]\((?:https?://|mailto:|/|\#)[^()\s]{0,1000}\)",
    re.MULTILINE,
)
"""A heading, a fence, two items of a list, the line under the head of a table, emphasis, code, a link."""


def as_prose(wish: Wish) -> Wish:
    """Parts that are not read are ignored by kind, such as `code`; code alone is a silence. Raises a `HttpProblem`."""
    order = wish.order
    if order.input_format == "plain" or (order.input_format == "auto" and _CERTAIN.search(order.input) is None):
        return wish
    try:
        # The first line is empty: rules around a chat's answer would be read as the head of a document.
        script = markdown_script(f"\n{order.input}", ())
    except DocumentError as error:
        raise invalid_field("/input", "not_supported", f"{error}; or send `input_format: plain`") from error
    text = SpokenText(script.text, script.replacements).text.strip() or "..."
    left_out = dict.fromkeys(each.kind for each in script.left_out)
    return Wish(order.model_copy(update={"input": text}), (*wish.ignored, *left_out))
