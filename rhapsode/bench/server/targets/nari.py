"""The server of nari-labs, over HTTP with the whole text: bare samples at 24 kHz."""

from __future__ import annotations

from rhapsode.bench.server.targets.family_speech import FamilySpeech


class Nari(FamilySpeech):
    rate_hz = 24_000
