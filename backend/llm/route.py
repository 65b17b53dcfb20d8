"""The way to a server: names to addresses, and the proxy of the environment."""

import base64
import contextlib
import os
import socket
import sys
import threading
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from ..cancel import CancelToken
from ..errors import ModelError

POLL_SECONDS = 0.05
Address = tuple[socket.AddressFamily, Any]


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy; `credentials` is "user:password" or empty."""

    host: str
    port: int
    credentials: str = ""

    @property
    def url(self) -> str:
        """Its address, without the credentials."""
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    def headers(self) -> dict[str, str]:
        """What the proxy must be told beside the request."""
        if not self.credentials:
            return {}
        return {"Proxy-Authorization": f"Basic {base64.b64encode(self.credentials.encode()).decode()}"}


def proxy_for(scheme: str, host: str, port: int) -> Proxy | None:
    """The proxy that the environment (or the system's settings) names for a host; never one for loopback."""
    by_system = sys.platform in ("win32", "darwin")
    if is_loopback(host) or not (by_system or any(name.lower().endswith("_proxy") for name in os.environ)):
        return None
    # Imported here: most installations have no proxy, and this module takes time to load.
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    url = proxies.get(scheme) or proxies.get("all")
    if not url or proxy_bypass(f"{host}:{port}"):
        return None
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme != "http" or not parts.hostname:
        raise ModelError(
            f"The proxy setting for {scheme} is of the kind {parts.scheme!r}; only HTTP proxies are supported."
        )
    credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
    return Proxy(parts.hostname, parts.port or 80, credentials)


def is_loopback(host: str) -> bool:
    """True for names and addresses of this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    return host == "::1" or (host.startswith("127.") and is_address(host))


def is_address(host: str) -> bool:
    """True for an IP address, False for a name."""
    for family in (socket.AF_INET, socket.AF_INET6):
        with contextlib.suppress(OSError, ValueError):
            socket.inet_pton(family, host)
            return True
    return False


def resolve(host: str, port: int, timeout: float, cancelled: CancelToken) -> list[Address]:
    """The addresses of a host, at most `timeout` seconds; OSError if there are none or once cancelled.

    The system's resolver cannot be interrupted, so a name is looked up on a thread that can be left behind.
    """
    if host == "localhost" or is_address(host):
        return _look_up(host, port)
    return _resolve_apart(host, port, timeout, cancelled)


def _look_up(host: str, port: int) -> list[Address]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:  # an empty part, or one that is too long
        raise socket.gaierror(socket.EAI_NONAME, "not the name of a host") from None
    return [(family, address) for family, _, _, _, address in found]


def _resolve_apart(host: str, port: int, timeout: float, cancelled: CancelToken) -> list[Address]:
    answer: list[list[Address] | OSError] = []
    ready = threading.Event()

    def work() -> None:
        try:
            answer.append(_look_up(host, port))
        except OSError as e:
            answer.append(e)
        ready.set()

    threading.Thread(target=work, name=f"resolve-{host}", daemon=True).start()
    waited = 0.0
    while not ready.wait(POLL_SECONDS):
        waited += POLL_SECONDS
        if cancelled.is_set():
            raise ConnectionAbortedError("cancelled")
        if waited >= timeout:
            raise TimeoutError(f"looking up {host} took too long")
    if isinstance(answer[0], OSError):
        raise answer[0]
    return answer[0]
