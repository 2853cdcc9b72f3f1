"""Errors of webhooks, all of them `StorageError`.

StorageError
├── EndpointNotFound   no such endpoint for this tenant
├── EndpointGone       the endpoint existed and was deleted
├── EndpointDisabled   it takes nothing until its owner enables it
├── DeliveryNotFound   no such delivery for this tenant, or it is forgotten
└── DeliveryBusy       an attempt is under way; wait for it
"""

from __future__ import annotations

from storage.errors import StorageError


class EndpointNotFound(StorageError):
    """No such endpoint."""


class EndpointGone(StorageError):
    """The endpoint was deleted."""


class EndpointDisabled(StorageError):
    """The endpoint takes nothing."""


class DeliveryNotFound(StorageError):
    """No such delivery."""


class DeliveryBusy(StorageError):
    """An attempt is under way."""
