"""The engine in a separate process: a crash leaves the worker alive."""
