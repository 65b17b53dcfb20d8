"""Cookies for the length of one redirect chain, each kept to the very origin that set it."""

from .urls import Target

MAX_COOKIES = 20
MAX_COOKIE_CHARS = 4096


class ChainCookies:
    """Some sites set a cookie and redirect to themselves until it comes back; nothing outlives the fetch."""

    def __init__(self) -> None:
        self._by_origin: dict[str, dict[str, str]] = {}

    def keep(self, target: Target, set_cookies: list[str]) -> None:
        """Remember what `target` set."""
        for line in set_cookies[:MAX_COOKIES]:
            name, sign, value = line.partition(";")[0].strip().partition("=")
            jar = self._by_origin.setdefault(target.origin, {})
            if sign and name and len(line) <= MAX_COOKIE_CHARS and (line.isascii() and line.isprintable()):
                jar[name] = value
                while len(jar) > MAX_COOKIES:
                    del jar[next(iter(jar))]

    def header(self, target: Target) -> str:
        """The Cookie header for a request to `target`, or an empty text."""
        jar = self._by_origin.get(target.origin, {})
        return "; ".join(f"{name}={value}" for name, value in jar.items())
