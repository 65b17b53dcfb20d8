"""The checks before every request (host, origin, sign-in, CSRF) and the headers after it."""

import hmac
import logging
import secrets
from urllib.parse import urlsplit

from flask import Flask, Response, g, request

from ..errors import Forbidden, RequestError
from ..services import auth
from .http import identity, operation_of, require_admin, runtime

audit = logging.getLogger("nanoclaw.audit")

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")
# What browsers say of a request that another page makes; another port of this machine is "same-site".
FOREIGN_SITES = ("cross-site", "same-site")
OTHER_SITES = "Requests from other sites are not allowed."
DEFAULT_PORTS = {"http": "80", "https": "443"}

PAGE_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data: blob:; "
    "media-src 'self' blob:; font-src 'self'; connect-src 'self'; frame-src blob:; worker-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
DATA_POLICY = "default-src 'none'; frame-ancestors 'none'"
DOWNLOAD_POLICY = "sandbox; default-src 'none'; frame-ancestors 'none'"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


def register(app: Flask) -> None:
    """Check every request of the application and set the headers of every answer."""
    app.before_request(check_place)
    app.before_request(sign_in)
    app.before_request(check_rights)
    app.after_request(set_headers)


def csp_nonce() -> str:
    """This answer's nonce for style elements; made on first use."""
    if "csp_nonce" not in g:
        g.csp_nonce = secrets.token_urlsafe(16)
    nonce: str = g.csp_nonce
    return nonce


# ---------------------------------------------------------------- before
def check_place() -> None:
    """Raises RequestError for a foreign Host (DNS rebinding), Forbidden for what another site's page sends."""
    allowed = _origins()
    host = request.headers.get("Host", "").lower()
    if not any(host in _spellings(origin) for origin in allowed):
        raise RequestError("This server does not answer under that host name.")
    origin = request.headers.get("Origin")
    if origin is not None and origin.lower() not in allowed:
        raise Forbidden(OTHER_SITES)
    if request.headers.get("Sec-Fetch-Site") in FOREIGN_SITES and not _is_link():
        raise Forbidden(OTHER_SITES)


def _is_link() -> bool:
    """Whether a person follows a link, as opposed to a page that loads an image, a frame or a script from here."""
    headers = request.headers
    return headers.get("Sec-Fetch-Mode") == "navigate" and headers.get("Sec-Fetch-Dest") == "document"


def _origins() -> set[str]:
    """The origins of this server: its loopback addresses with the port it listens on, and its public URL."""
    port = request.environ.get("SERVER_PORT", "")
    origins = {_origin("http", name, port) for name in LOOPBACK_HOSTS}
    if public := runtime().settings.public_url:
        parts = urlsplit(public)
        origins.add(f"{parts.scheme}://{parts.netloc}".lower())
    return origins


def _origin(scheme: str, host: str, port: str) -> str:
    return f"{scheme}://{host}" if port == DEFAULT_PORTS[scheme] else f"{scheme}://{host}:{port}"


def _spellings(origin: str) -> tuple[str, ...]:
    """The Host headers that name an origin: a default port may be left out or not."""
    scheme, _, host = origin.partition("://")
    if host.rpartition("]")[2].rpartition(":")[1]:
        return (host,)
    return (host, f"{host}:{DEFAULT_PORTS[scheme]}")


def sign_in() -> None:
    """Find out who is asking: by bearer token, else by session cookie; a wrong bearer is nobody."""
    g.identity = None
    header = request.headers.get("Authorization", "")
    scheme, _, token = header.partition(" ")
    if scheme.lower() == "bearer":
        g.identity = auth.by_bearer(runtime(), token.strip())
    elif cookie := request.cookies.get(auth.cookie_name(runtime())):
        g.identity = auth.by_session(runtime(), cookie)


def check_rights() -> None:
    """Raises NotSignedIn or Forbidden as the view behind the address demands."""
    spec = operation_of(request.endpoint)
    if spec is None or spec.public:
        return
    who = identity()
    if spec.admin:
        require_admin()
        if request.method not in SAFE_METHODS:
            audit.info("admin %s: %s %s", who.user_id, request.method, request.path)
    if who.csrf is not None and request.method not in SAFE_METHODS:
        given = request.headers.get("X-CSRF-Token", "")
        if not hmac.compare_digest(given.encode(), who.csrf.encode()):
            raise Forbidden("The X-CSRF-Token header is missing or old.", suggestion="Reload the page.")


# ---------------------------------------------------------------- after
def set_headers(response: Response) -> Response:
    """Strict headers for everything; a page gets the policy of pages, data that of data."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    page = response.mimetype == "text/html"
    policy = PAGE_POLICY.format(nonce=csp_nonce()) if page else DATA_POLICY
    response.headers.setdefault("Content-Security-Policy", policy)
    if request.path.startswith(("/api", "/auth")):
        response.headers.setdefault("Cache-Control", "no-store")
    return response
