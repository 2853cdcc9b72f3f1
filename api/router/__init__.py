"""The thin server in front of several cells; `python -m api.router.server` serves it. README.md says how it decides."""
