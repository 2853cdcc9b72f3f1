"""What a web page is about: what stands around its article is left out, where there is an article.

Libraries do this too. We measured precision / recall of runs of four words, and the time of a page, on 181 pages with
known articles. trafilatura 2.3: 0.94 / 0.98, 19 ms. readability-lxml 0.9: 0.93 / 0.96, 21 ms. resiliparse 2.0: 0.86 /
0.98, 2 ms. This module: 0.85 / 0.98, 9 ms (0.56 / 0.98 without it). We keep this module. It leaves a book in one page
unchanged and uses the tree that the other readers use. Its time grows linearly with the page, and it needs no package
of 50 MB.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

from reading.documents.markup import local_name

_Element = etree._Element  # pyright: ignore[reportPrivateUsage]

LEAST_PROSE = 300
"""Characters; a page with less has no recognisable article."""

ARTICLE_SHARE = 0.75
"""Of a page's prose: the smallest element that holds so much is the article."""

OUTWEIGHS = 3

MOST_SURROUNDINGS = 0.35
"""Of a page's prose: what is called a banner and holds more is none."""

_TAGS = frozenset({"aside", "nav", "dialog", "menu", "footer", "form"})
_ROLES = frozenset(
    {
        *(
            "navigation",
            "banner",
            "contentinfo",
            "complementary",
            "search",
            "dialog",
            "alertdialog",
            "alert",
            "toolbar",
        ),
        *("menu", "menubar", "tablist", "tooltip", "status", "doc-toc"),
    }
)
_NAMES = re.compile(
    r"(?:^|[\s_-])(?:ads?|advert|advertis(?:ement|ements|ing)|sponsor(?:ed|s)?|promo(?:tion|s)?|cookies?|consent|gdpr|"
    r"newsletter|subscri(?:be|ption)|paywall|shar(?:e|ing|er)|social|related|recommend(?:ed|ations)?|comments?|"
    r"respond|breadcrumbs?|sidebar|popup|modal|overlay|banner|skip|pagination|pager|byline|author-bio|tags?|"
    r"trending|popular|toolbar|menu|navbar|navigation|nav|footer|masthead|disqus|outbrain|taboola)(?=$|[\s_-])",
    re.IGNORECASE,
)
_SURROUNDED = frozenset({"nav", "aside", "footer", "form", "button", "iframe"})
_PROSE = frozenset({"p", "blockquote", "pre", "dd", "li"})
_LEAST_PARAGRAPH = 40
_LEAST_LOOSE = 80
"""Characters of text that stands in no paragraph."""


def keep_article(root: _Element) -> None:
    """Empty what is not to be read. A page that has nothing around its text is left alone."""
    if not any(local_name(each.tag) in _SURROUNDED for each in root.iter()):
        return
    total, surroundings = 0, list[tuple[_Element, int]]()
    for element, prose in _with_prose(root):
        total = prose
        if _is_surrounding(element):
            surroundings.append((element, prose))
    for element, prose in surroundings:
        if prose <= MOST_SURROUNDINGS * total:
            _empty(element)
        elif local_name(element.tag) == "form":
            # Some servers wrap the whole page in one.
            element.tag = "div"
    _keep(root)


def _keep(root: _Element) -> None:
    total = sum(_own_prose(each) for each in root.iter())
    if total < LEAST_PROSE:
        return
    article = _called_article(root)
    if article is None:
        article = next(element for element, prose in _with_prose(root) if prose >= ARTICLE_SHARE * total)
    title = _title_before(root, article)
    path = {article, *article.iterancestors()}
    if title is not None:
        path |= {title, *title.iterancestors()}
    for element in path - {article, title}:
        if local_name(element.tag) != "html":
            for child in element:
                if child not in path:
                    _empty(child)


def _called_article(root: _Element) -> _Element | None:
    """What its writer calls so, if there is one that outweighs all others."""
    named = [(prose, element) for element, prose in _with_prose(root) if local_name(element.tag) == "article"]
    named.sort(key=lambda each: -each[0])
    if not named or named[0][0] < LEAST_PROSE:
        return None
    second = named[1][0] if len(named) > 1 else 0
    return named[0][1] if named[0][0] >= OUTWEIGHS * second else None


def _title_before(root: _Element, article: _Element) -> _Element | None:
    """The page's first heading, if it stands outside of the article; the last of those before it."""
    found = None
    for element in root.iter():
        if element is article:
            break
        if local_name(element.tag) == "h1":
            found = element
    inside = any(local_name(each.tag) == "h1" for each in article.iter())
    return None if inside else found


def _with_prose(root: _Element) -> Iterator[tuple[_Element, int]]:
    """Every element behind what it holds, with the length of its prose."""
    sums = [0]
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            sums.append(0)
        else:
            prose = sums.pop() + _own_prose(element)
            sums[-1] += prose
            yield element, prose


def _own_prose(element: _Element) -> int:
    """Of its text and the text in its line; links do not count."""
    name = local_name(element.tag)
    if not name or name in ("script", "style", "template", "a"):
        return 0
    length = len((element.text or "").strip()) + sum(len((child.tail or "").strip()) for child in element)
    if name in _PROSE:
        return length if length >= _LEAST_PARAGRAPH else 0
    return length if length >= _LEAST_LOOSE else 0


def _is_surrounding(element: _Element) -> bool:
    name = local_name(element.tag)
    if name in ("html", "body", "main", "article", "a", "p", "h1") or not name:
        return False
    if name in _TAGS:
        return name != "footer" or not _stands_in_quotation(element)
    if (element.get("role") or "").strip().lower() in _ROLES:
        return True
    return _NAMES.search(f"{element.get('class') or ''} {element.get('id') or ''}") is not None


def _stands_in_quotation(footer: _Element) -> bool:
    """Where it says who is quoted."""
    parent = footer.getparent()
    return parent is not None and local_name(parent.tag) == "blockquote"


def _empty(element: _Element) -> None:
    """Leave nothing of it but the text after it."""
    tail = element.tail
    element.clear()
    element.tail = tail
    element.tag = "template"
