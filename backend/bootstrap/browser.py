"""The browser for the tests: Debian's Chromium or Google Chrome, installed where that can be done."""

import os
import shutil
from pathlib import Path

from .environment import ROOT
from .process import run
from .report import SetupError, say, step

VARIABLE = "NANOCLAW_TEST_BROWSER"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """The browser's path, or None."""
    named = os.environ.get(VARIABLE)
    if named and Path(named).exists():
        return named
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def ensure() -> str | None:
    """Find a browser, or install Debian's as root; None, said why, if there is none (the tests then skip or fail)."""
    found = find()
    if found:
        return found
    if shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        try:
            with step("Installing Chromium for the browser tests"):
                quiet = {"DEBIAN_FRONTEND": "noninteractive"}
                run(["apt-get", "update", "-q"], "apt-get update", ROOT, quiet)
                run(
                    ["apt-get", "install", "-qy", "--no-install-recommends", "chromium", "fonts-noto-cjk"],
                    "apt-get install",
                    ROOT,
                    quiet,
                )
        except SetupError as fault:
            say(f"  {fault.what}")
    else:
        say(
            f"  No Chromium found: browser tests are skipped. Install it (apt install chromium), or name one with {VARIABLE}."
        )
    return find()
