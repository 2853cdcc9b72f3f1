"""Which recogniser an operator may ask for. Apart from the recognisers, so that settings load none of them."""

from __future__ import annotations

import enum


class RecogniserChoice(enum.StrEnum):
    AUTO = "auto"
    """Whisper where its weights are named, else Moonshine where it is installed, else none."""

    NONE = "none"
    MOONSHINE = "moonshine"
    """Small, English, with its weights in a package."""

    WHISPER = "whisper"
    """faster-whisper with weights in a folder of yours."""
