"""What a new API key is asked for and answers with."""

from __future__ import annotations

from rhapsode.contract.operators.keys import ApiKeyView

DEFAULT_SCOPES = ("synth", "voices", "webhooks")


class CreatedApiKey(ApiKeyView):
    """Once it is known that the answer shows its secret."""

    secret: str
