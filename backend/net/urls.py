"""The one URL parser: what it returns is what is checked, connected to and sent; there is no second reading."""

import re
from dataclasses import dataclass
from ipaddress import IPv6Address
from urllib.parse import quote, urljoin, urlsplit

from ..errors import FetchError, SsrfViolation

MAX_URL_CHARS = 8192
MAX_HOST_CHARS = 253
MAX_QUOTED_CHARS = 200
DEFAULT_PORTS = {"http": 80, "https": 443}

# Everything a path or query may hold as it is; "%" stays so that what is already encoded is not encoded twice.
PATH_SAFE = "/:@!$&'()*+,;=-._~%"
QUERY_SAFE = PATH_SAFE + "?[]|`{}^\\"

_FORBIDDEN = re.compile(r"[\x00-\x20\x7f]")
_SCHEME = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]*):")
_LABEL = re.compile(r"^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes. `host` is a lower-case ASCII name or an address without brackets."""

    scheme: str
    host: str
    port: int
    path: str
    fragment: str = ""

    @property
    def authority(self) -> str:
        """`host` or `host:port`, as the Host header has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """`scheme://host[:port]`."""
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        """The whole address, without the fragment."""
        return self.origin + self.path


def parse(text: str) -> Target:
    """Read an http or https URL.

    Raises SsrfViolation for another scheme or for credentials in the URL, FetchError for what is no URL.
    """
    text = text.strip(" \t\r\n\f")
    if not text:
        raise FetchError("The URL is empty.", suggestion="Give a full address that starts with https://.")
    if len(text) > MAX_URL_CHARS:
        raise FetchError(f"The URL is longer than {MAX_URL_CHARS} characters.")
    _check_scheme(text)
    try:
        parts = urlsplit(text.replace(" ", "%20"))
        port = parts.port
    except ValueError:
        raise FetchError(f"{shown(text)} is not a valid URL.") from None
    scheme = parts.scheme.lower()
    host = _host(parts.netloc, text)
    if port == 0:
        raise FetchError(f"{shown(text)}: 0 is not a port.")
    path = quote(parts.path or "/", safe=PATH_SAFE, errors="replace")
    if parts.query:
        path += "?" + quote(parts.query, safe=QUERY_SAFE, errors="replace")
    return Target(scheme, host, port or DEFAULT_PORTS[scheme], path, parts.fragment)


def join(base: Target, location: str) -> Target:
    """The target of a redirect or link found at `base`; raises like `parse`."""
    try:
        return parse(urljoin(base.url, location.strip(" \t\r\n\f")))
    except ValueError:
        raise FetchError(f"{shown(location)} is not a valid URL.") from None


def shown(text: str) -> str:
    """The URL quoted for a message, cut to a sane length."""
    return repr(text if len(text) <= MAX_QUOTED_CHARS else text[:MAX_QUOTED_CHARS] + "…")


def _check_scheme(text: str) -> None:
    match = _SCHEME.match(text)
    scheme = match.group(1).lower() if match else ""
    rest = text[len(scheme) + 1 :]
    if scheme in DEFAULT_PORTS:
        if not rest.startswith("//"):
            raise FetchError(f"{shown(text)} is not a valid URL: two slashes must follow the scheme.")
        if _FORBIDDEN.search(text.replace(" ", "")):
            raise FetchError(f"{shown(text)} holds control characters.")
    elif not scheme or "." in scheme or rest[:1].isdigit():  # a bare host, or host:port
        raise FetchError(f"{shown(text)} has no scheme.", suggestion="Write the address with https:// in front.")
    else:
        raise SsrfViolation(f"{shown(text)}: only http and https addresses are fetched.")


def _host(netloc: str, text: str) -> str:
    if "@" in netloc:
        raise SsrfViolation(
            "Addresses with a user name or password are not fetched.",
            suggestion="Leave the part before the @ out, if the page is public.",
        )
    if "\\" in netloc or "%" in netloc or " " in netloc:
        raise SsrfViolation(f"{shown(text)}: the host name holds characters that hosts do not have.")
    if netloc.startswith("["):
        return _address6(netloc, text)
    host = _ascii(netloc.rpartition(":")[0] if ":" in netloc else netloc, text)
    if not host:
        raise FetchError(f"{shown(text)} names no host.")
    if len(host) > MAX_HOST_CHARS or not all(_LABEL.match(label) for label in host.split(".")):
        raise FetchError(f"{shown(text)}: that is not a valid host name.")
    return host


def _address6(netloc: str, text: str) -> str:
    inner, _, rest = netloc[1:].partition("]")
    if rest and not rest.startswith(":"):
        raise FetchError(f"{shown(text)} is not a valid URL.")
    try:
        return str(IPv6Address(inner))
    except ValueError:
        raise FetchError(f"{shown(text)}: {inner[:60]!r} is not an IPv6 address.") from None


def _ascii(host: str, text: str) -> str:
    if not host.isascii():
        import idna  # only international names need its tables

        if len(host) > MAX_HOST_CHARS:
            raise FetchError(f"{shown(text)}: the host name is too long.")
        try:
            host = idna.encode(host, uts46=True).decode("ascii")
        except (idna.IDNAError, UnicodeError):
            raise FetchError(f"{shown(text)}: that is not a valid international host name.") from None
    return host.lower().removesuffix(".")
