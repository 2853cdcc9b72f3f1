"""Live speech: streams from this process to an engine with room, and to another one after a loss."""
