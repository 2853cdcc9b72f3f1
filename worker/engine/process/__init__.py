"""The engine in a process of its own: what kills it leaves the worker alive."""
