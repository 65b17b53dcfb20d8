"""Giving the program its secrets without leaving them in its environment, where other processes of the user can read them."""

import json
import os
from collections.abc import Mapping

from ..settings import SECRETS, SECRETS_DESCRIPTOR


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for the program: secrets go through a pipe whose number it is told.

    `/proc/PID/environ` shows what a process was started with for as long as it lives; taking a variable out
    later does not change that.
    """
    secrets = {name: environ[name] for name in SECRETS if environ.get(name)}
    rest = {name: value for name, value in environ.items() if name not in SECRETS}
    if not secrets or os.name == "nt":
        return dict(environ)
    reading, writing = os.pipe()
    os.write(writing, json.dumps(secrets).encode())
    os.close(writing)
    os.set_inheritable(reading, True)
    return {**rest, SECRETS_DESCRIPTOR: str(reading)}
