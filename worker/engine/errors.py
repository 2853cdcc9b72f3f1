"""Errors of the engine. The class says what the caller should do.

EngineError
├── CheckpointError      the checkpoint cannot be used; fix it and start again
├── RequestRejected      this request can never work; do not retry it
├── RequestCancelled     somebody called `cancel`
└── EngineDied           the engine went away; another incarnation may serve the request
    └── EngineUnavailable    it was away already: the request never reached it and cannot be the cause
"""


class EngineError(Exception):
    """The engine could not do what was asked."""


class CheckpointError(EngineError):
    """The checkpoint does not have the published layout."""


class RequestRejected(EngineError):
    """The request asks for something this checkpoint cannot do."""


class RequestCancelled(EngineError):
    """The request was cancelled."""


class EngineDied(EngineError):
    """The engine stopped while the request was in flight."""


class EngineUnavailable(EngineDied):
    """The request never reached an engine."""
