"""Signing in and out, the signed-in person, and API tokens."""

from flask import Blueprint, Response, g, request
from werkzeug.exceptions import MethodNotAllowed

from ..errors import NotSignedIn
from ..services import auth, tokens
from .http import identity, nothing, operation, reply, runtime, user_id
from .limits import SIGN_INS
from .schemas import answers, requests
from .state import limiter

bp = Blueprint("auth", __name__)
SECONDS_PER_DAY = 86_400


@bp.get("/api/auth/mode")
@operation("How people sign in here", returns={200: answers.AuthMode}, public=True)
def mode() -> Response:
    """`single` or `multi`, and whether the caller is signed in."""
    return reply({"mode": runtime().settings.auth, "signed_in": g.identity is not None})


@bp.get("/auth/<code>")
@operation("Sign in by a one-time link", returns={303: None, 401: "text/html"}, errors=(429,), public=True)
def by_link(code: str) -> Response:
    """303 to the app with a session cookie; a used or old code is told on a page to who is not signed in."""
    from .pages import message_page

    if request.method == "HEAD":  # whoever only looks whether a link works must not use it up
        raise MethodNotAllowed(["GET"])
    try:
        secret = _redeem(code)
    except NotSignedIn as e:
        if g.identity is not None:  # an old link, opened by who is in already
            return Response(status=303, headers={"Location": "/"})
        return message_page("This link no longer signs in", f"{e.message} {e.suggestion}", 401)
    response = Response(status=303, headers={"Location": "/"})
    _set_cookie(response, secret)
    return response


@bp.post("/api/auth/login")
@operation(
    "Sign in with a one-time code", body=requests.LoginBody, returns={200: answers.Me}, errors=(401, 429), public=True
)
def login(body: requests.LoginBody) -> Response:
    """The same as the link, for programs."""
    secret = _redeem(body.code)
    who = auth.by_session(runtime(), secret)
    if who is None:
        raise NotSignedIn("The session could not be opened.")
    response = reply(auth.me(runtime(), who))
    _set_cookie(response, secret)
    return response


@bp.post("/api/auth/logout")
@operation("Sign out", returns={204: None})
def logout() -> Response:
    """End this session everywhere; a bearer token stays."""
    name = auth.cookie_name(runtime())
    if identity().via == "session" and (secret := request.cookies.get(name)):
        auth.close_session(runtime(), secret)
    response = nothing()
    response.delete_cookie(name, path="/")
    return response


@bp.get("/api/auth/me")
@operation("The signed-in person", returns={200: answers.Me})
def me() -> Response:
    """User, role, settings and the CSRF token of the session."""
    return reply(auth.me(runtime(), identity()))


@bp.patch("/api/auth/me")
@operation("Change name or settings", body=requests.MeBody, returns={200: answers.Me})
def patch_me(body: requests.MeBody) -> Response:
    """Settings are merged; null removes one."""
    return reply(auth.update_me(runtime(), identity(), body.name, body.settings))


@bp.get("/api/auth/tokens")
@operation("List API tokens", query=requests.PageQuery, returns={200: answers.page_of(answers.Token)})
def list_tokens(query: requests.PageQuery) -> Response:
    """Without their secrets."""
    return reply(tokens.list_tokens(runtime().db, user_id(), query.page()))


@bp.post("/api/auth/tokens")
@operation("Make an API token", body=requests.TokenBody, returns={201: answers.NewToken})
def create_token(body: requests.TokenBody) -> Response:
    """The secret is in this answer only."""
    return reply(tokens.create_token(runtime().db, user_id(), body.name), 201)


@bp.delete("/api/auth/tokens/<token_id>")
@operation("Revoke an API token", returns={204: None}, errors=(404,))
def delete_token(token_id: str) -> Response:
    """At once."""
    tokens.delete_token(runtime().db, user_id(), token_id)
    return nothing()


def _redeem(code: str) -> str:
    """A session's secret. Only failures are slowed down: nobody can keep the owner out by trying wrong codes."""
    try:
        return auth.redeem_code(runtime(), code)
    except NotSignedIn:
        limiter().take("sign-in", request.remote_addr or "", SIGN_INS)
        raise


def _set_cookie(response: Response, secret: str) -> None:
    public = runtime().settings.public_url or ""
    response.set_cookie(
        auth.cookie_name(runtime()), secret, max_age=auth.SESSION_DAYS * SECONDS_PER_DAY, path="/",
        httponly=True, samesite="Lax", secure=public.startswith("https://"),
    )  # fmt: skip
