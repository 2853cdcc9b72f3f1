"""Errors of the engine. The class says what the caller should do.

EngineError
├── StartError           the engine cannot start; fix what it says and start again
│   ├── CheckpointError      the checkpoint cannot be used
│   └── EngineNotInstalled   what the engine is made of is missing, or is of a version it was not tested with
├── RequestRejected      this request can never work; do not retry it
├── RequestCancelled     `cancel` was called
└── EngineDied           the engine went away; another host may serve the request
    └── EngineUnavailable    it was away already: the request never reached it and cannot be the cause
"""


class EngineError(Exception):
    """The engine could not do what was asked."""


class StartError(EngineError):
    """The engine cannot start."""


class CheckpointError(StartError):
    """The checkpoint does not have the published layout."""


class EngineNotInstalled(StartError):
    """The engine's libraries are not here."""


class RequestRejected(EngineError):
    """The request asks for something this checkpoint cannot do."""


class RequestCancelled(EngineError):
    """The request was cancelled."""


class EngineDied(EngineError):
    """The engine stopped while the request was in flight."""


class EngineUnavailable(EngineDied):
    """The request never reached an engine."""
