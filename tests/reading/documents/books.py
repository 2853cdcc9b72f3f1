"""EPUB files made for a test: well-formed unless a test asks otherwise."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence

CONTAINER = (
    '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0">'
    '<rootfiles><rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles>'
    "</container>"
)


def page(body: str, title: str = "") -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html>'
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">'
        f"<head><title>{title}</title></head><body>{body}</body></html>"
    )


def package(pages: Sequence[str], extra_items: str = "", spine_attributes: str = "") -> str:
    items = "".join(
        f'<item id="p{n}" href="{name}" media-type="application/xhtml+xml"/>' for n, name in enumerate(pages)
    )
    spine = "".join(f'<itemref idref="p{n}"/>' for n in range(len(pages)))
    return (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>A Book</dc:title>'
        "<dc:creator>Ann Author</dc:creator><dc:creator>Ben Writer</dc:creator>"
        "<dc:language>en-GB</dc:language><dc:publisher>Mill Press</dc:publisher>"
        '<dc:date xmlns:opf="http://www.idpf.org/2007/opf" opf:event="modification">2020-01-02</dc:date>'
        "<dc:date>1897-05-26T00:00:00Z</dc:date></metadata>"
        f"<manifest>{items}{extra_items}</manifest><spine{spine_attributes}>{spine}</spine></package>"
    )


def nav(entries: str) -> str:
    return page(f'<nav epub:type="toc"><h1>Contents</h1><ol>{entries}</ol></nav>')


NAV_ITEM = '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'


def book(files: Mapping[str, str | bytes], container: str = CONTAINER) -> bytes:
    """A ZIP of these files, below OEBPS/ unless their name starts with a slash."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        zipped.writestr("META-INF/container.xml", container)
        for name, content in files.items():
            zipped.writestr(name[1:] if name.startswith("/") else f"OEBPS/{name}", content)
    return archive.getvalue()
