"""The web app's goals P1 to P9, measured with the real server and a real browser: `run.py bench web [--quick] [P1 …]`."""

from .run import main

__all__ = ["main"]
