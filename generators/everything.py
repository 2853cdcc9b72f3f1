"""All generated files but the synchronous client."""

from __future__ import annotations

from generators.at_install import made_at_install
from generators.error_pages import error_table
from generators.files import Files
from generators.option_page import option_page
from generators.usual_request import usual_request


def everything() -> Files:
    return {**made_at_install(), **option_page(), **error_table(), **usual_request()}
