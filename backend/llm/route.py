"""The way to a server: names to addresses, the proxy of the environment, the system's trust store."""

import base64
import contextlib
import os
import socket
import sys
import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from ..errors import ModelError

if TYPE_CHECKING:
    import ssl

POLL_SECONDS = 0.05
Address = tuple[socket.AddressFamily, Any]


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy; `credentials` is "user:password" or empty."""

    host: str
    port: int
    credentials: str = ""

    def header_lines(self) -> list[str]:
        """What the proxy must be told beside the request."""
        if not self.credentials:
            return []
        return [f"Proxy-Authorization: Basic {base64.b64encode(self.credentials.encode()).decode()}"]


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


def resolve(host: str, port: int, timeout: float, stop: threading.Event) -> list[Address]:
    """The addresses of a host, at most `timeout` seconds; OSError if there are none, TimeoutError, or `stop` was set.

    The system's resolver cannot be interrupted, so a name is looked up on a thread that can be left behind.
    """
    if host == "localhost" or is_address(host):
        return _look_up(host, port)
    return _resolve_apart(host, port, timeout, stop)


def _look_up(host: str, port: int) -> list[Address]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(family, address) for family, _, _, _, address in found]


def _resolve_apart(host: str, port: int, timeout: float, stop: threading.Event) -> list[Address]:
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
        if stop.is_set():
            raise ConnectionAbortedError("cancelled")
        if waited >= timeout:
            raise TimeoutError(f"looking up {host} took too long")
    if isinstance(answer[0], OSError):
        raise answer[0]
    return answer[0]


@lru_cache(maxsize=1)
def tls_context() -> "ssl.SSLContext":
    """Verifying by the system's trust store (or REQUESTS_CA_BUNDLE, SSL_CERT_FILE); certifi's where there is none."""
    import ssl  # a slow import that a local server does not need

    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    bundle = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
    if bundle and os.path.isfile(bundle):
        context.load_verify_locations(cafile=bundle)
    paths = ssl.get_default_verify_paths()
    if not context.cert_store_stats()["x509_ca"] and not paths.cafile and not paths.capath:
        with contextlib.suppress(ImportError):
            import certifi

            context.load_verify_locations(certifi.where())
    return context
