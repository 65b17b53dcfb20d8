"""What went wrong at a model's server, from its status, headers and body: a typed error in words for people."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from .. import strict_json
from ..errors import (
    ContentFiltered,
    ContextTooLong,
    ModelAuthError,
    ModelError,
    ModelQuotaExceeded,
    ModelRateLimited,
    ModelRefusedRequest,
    ModelTransient,
)
from .arguments import mend_surrogates

DETAIL_LIMIT_CHARS = 300
_reader = strict_json.Reader()
MESSAGE_LIMIT_CHARS = 4_000
TRANSIENT_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529, 530})

# How servers word what they have no common code for. These are other people's words; ours have codes.
_QUOTA = re.compile(
    r"insufficient[_ ]?(quota|balance|credit|funds)|billing_(hard_limit|not_active)|exceeded your current quota"
    r"|credit balance is too low|out of credits|not enough credits|requires more credits|payment required|arrearage"
    r"|余额不足|欠费|额度(已|不足|用)|账户.{0,6}不足",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"context[_ ](length|window|size|limit)|maximum context|max_model_len|n_ctx|(prompt|input|message|conversation)s?( is| are)? too (long|large)"
    r"|too many (input |prompt )?tokens|reduce (the|your) (length|size|prompt|message)|maximum prompt length"
    r"|input token count|(exceed|larger|longer|more)\w* (than )?(the )?(model'?s? )?(maximum|max|limit)[^.]{0,40}tokens"
    r"|input length (should be|and)|maximum number of (input )?tokens|max(imum)? (input )?tokens? (allowed|exceeded|limit)"
    r"|tokens? (count )?exceeds|request (entity )?too large|string_above_max_length"
    r"|token limit|tokens`? \+ `?max_new_tokens|context the overflows"
    r"|上下文|超长|(输入|提示|消息|内容).{0,12}(过长|超长|太长|超出|超过)|超(出|过).{0,16}(长度|token)",
    re.IGNORECASE,
)
_FILTER = re.compile(
    r"content[_ ]?(filter|policy|management)|data_inspection_failed|responsibleaipolicy|moderation|inappropriate content"
    r"|(un)?safe(ty)? (filter|system|reason)|prohibited_content|敏感|不安全|审核|违规",
    re.IGNORECASE,
)
_AUTH = re.compile(
    r"invalid[_ ]?(api|x-api)?[_ -]?key|incorrect api key|invalid_api_key|authentication|unauthori[sz]ed|permission_(error|denied)"
    r"|no api key|missing api key|api key (not|is)|无效.{0,6}(密钥|令牌)|身份验证",
    re.IGNORECASE,
)
_RATE = re.compile(
    r"rate[_ -]?limit|too many requests|resource_exhausted|throttl|tpm|rpm|频率|限流|速率", re.IGNORECASE
)
_TRANSIENT = re.compile(
    r"overload|capacity|server_error|internal[_ ]?(server)?[_ ]?error|unavailable|temporar|try again|time[d]?[_ -]?out|loading model"
    r"|bad gateway|upstream|connection|busy|repeat the request|insufficient_system_resource|network_error|繁忙|稍后",
    re.IGNORECASE,
)
_SECRET = re.compile(r"\b(sk|pk|rk|key|gsk|xai|hf|AIza)[-_]?[A-Za-z0-9_\-]{12,}|Bearer\s+\S+", re.IGNORECASE)
_HINT = re.compile(
    r"(?:try again|retry|wait|reset)[^0-9.]{0,24}?(?:(\d+)\s*h\w*\s*)?(?:(\d+)\s*m(?:in\w*)?(?!s)\s*)?(?:(\d+(?:\.\d+)?)\s*(ms|milli\w*|s\b|sec\w*))",
    re.IGNORECASE,
)
_THREE_DIGITS = re.compile("[0-9]{3}")
_HINT_ZH = re.compile(r"(\d+(?:\.\d+)?)\s*(毫秒|秒|分钟)后")


@dataclass(frozen=True, slots=True)
class Complaint:
    """What a server said about an error, dug out of whatever shape it came in."""

    message: str
    codes: str = ""
    status: int | None = None
    param: str = ""
    raw: str = ""

    @property
    def words(self) -> str:
        """Everything that may be matched against wordings."""
        return f"{self.codes} {self.param} {self.message or self.raw}"


def complaint_in(value: Any) -> Complaint | None:
    """The error that a 200 answer (or one of its events) holds, or None if it is no error."""
    if isinstance(value, list):
        return next((found for item in value if (found := complaint_in(item))), None)
    if not isinstance(value, dict):
        return None
    error = value.get("error") or value.get("errors")
    if error and error is not True:
        return read_complaint(value)
    base = value.get("base_resp")
    if isinstance(base, dict) and base.get("status_code") not in (None, 0, "0"):
        return Complaint(str(base.get("status_msg", "")), f"minimax_{base['status_code']}")
    choices = value.get("choices")
    if isinstance(choices, list) and choices:
        first = choices[0]
        if isinstance(first, dict) and first.get("error"):
            return read_complaint(first)
        return None
    if choices is None and "usage" not in value and "id" not in value and _only_message(value):
        return read_complaint(value)
    if value.get("object") == "error" or value.get("type") == "error":
        return read_complaint(value)
    return None


def _only_message(value: dict[str, Any]) -> bool:
    return any(isinstance(value.get(key), str) and value[key] for key in ("message", "msg", "detail", "error_msg"))


def read_complaint(value: Any, status: int | None = None) -> Complaint:
    """A body's error in any of the shapes that are about."""
    if isinstance(value, list):
        value = value[0] if value else {}
    if not isinstance(value, dict):
        return Complaint(str(value) if value else "", status=status)
    error = value.get("error") or value.get("errors") or value
    if isinstance(error, list):
        error = error[0] if error else {}
    if isinstance(error, str):
        error = {"message": error, "code": value.get("code"), "type": value.get("type")}
    if not isinstance(error, dict):
        error = {}
    message = _text(error, "message", "msg", "detail", "error_msg", "status_msg", "error_description")
    inner = error.get("metadata")
    if isinstance(inner, dict) and isinstance(inner.get("raw"), str):
        message = f"{message}: {inner['raw']}" if message else inner["raw"]
    codes = " ".join(str(error[k]) for k in ("code", "type", "status") if error.get(k) not in (None, "", "error"))
    hint = _retry_info(error)
    return Complaint(
        message[:MESSAGE_LIMIT_CHARS] + hint, codes, status or _status_of(error), str(error.get("param") or _location(error)),
        json.dumps(value, ensure_ascii=False)[:2000],
    )  # fmt: skip


def _text(error: dict[str, Any], *keys: str) -> str:
    for key in keys:
        value = error.get(key)
        if isinstance(value, str) and value.strip():
            return _unfolded(value.strip())
        if isinstance(value, list) and value:
            return "; ".join(str(v.get("msg", v)) if isinstance(v, dict) else str(v) for v in value[:3])
        if isinstance(value, dict) and value:
            return _text(value, *keys)
    return ""


def _unfolded(text: str) -> str:
    """A message that is itself the JSON of an error gives that one's message."""
    if not text.startswith(("{", "[")):
        return text
    try:
        return read_complaint(_reader.decode(text)).message or text
    except ValueError:
        return text


def _location(error: dict[str, Any]) -> str:
    detail = error.get("detail")
    first = detail[0] if isinstance(detail, list) and detail else None
    if isinstance(first, dict) and isinstance(first.get("loc"), list):
        return ".".join(str(part) for part in first["loc"] if part != "body")
    return ""


def _status_of(error: dict[str, Any]) -> int | None:
    for key in ("code", "status", "status_code"):
        value = error.get(key)
        if isinstance(value, str) and _THREE_DIGITS.fullmatch(value):
            value = int(value)
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return None


def _retry_info(error: dict[str, Any]) -> str:
    details = error.get("details")
    for item in details if isinstance(details, list) else ():
        if isinstance(item, dict) and isinstance(item.get("retryDelay"), str):
            return f" Retry in {item['retryDelay']}."
    seconds = error.get("retry_after")
    return f" Retry in {seconds}s." if isinstance(seconds, int | float) and not isinstance(seconds, bool) else ""


def read_body(status: int, data: bytes) -> Complaint:
    """The error of an HTTP answer; a page in HTML or an empty body has no message of its own."""
    text = data.decode("utf-8", "replace").strip()
    try:
        return read_complaint(_reader.decode(text), status)
    except ValueError:
        pass
    if text.startswith("data:"):
        try:
            return read_complaint(_reader.decode(text.splitlines()[0][5:]), status)
        except ValueError:
            pass
    if text.startswith("<") or "<html" in text[:500].lower():
        return Complaint("", status=status)
    return Complaint(text[:2000], status=status)


# ---------------------------------------------------------------- the error
def error_for(complaint: Complaint, headers: Mapping[str, str], secret: str = "") -> ModelError:
    """The typed error; its text is fit to be shown, without the provider's key."""
    status, words = complaint.status, complaint.words
    said = tidy(complaint.message, secret)
    wait = retry_after(headers, complaint.message)
    if _is_quota(status, complaint, wait):
        return ModelQuotaExceeded(_say("The provider reports that the account's quota or credit is used up", status, said),
                                  suggestion="Check the plan and billing at the provider, or choose another model.")  # fmt: skip
    if _is_too_long(status, words):
        return ContextTooLong(_say("The conversation is longer than the model can take", status, said))
    if _FILTER.search(words) and status in (None, 400, 403, 422, 451, 500):
        return ContentFiltered(_say("The provider's content filter stopped the request", status, said))
    if status in (401, 403, 407) or (status in (None, 400) and _AUTH.search(words)):
        return ModelAuthError(_say("The provider refused the API key or the access (authentication)", status, said),
                              suggestion="Check the key of this provider in the settings.")  # fmt: skip
    if status == 429 or (status is None and _RATE.search(words)):
        return ModelRateLimited(
            _say("The provider asks to send fewer requests (rate limit)", status, said), retry_after=wait
        )
    if status in TRANSIENT_STATUSES or (status or 0) >= 500 or (status is None and _TRANSIENT.search(words)):
        return _transient(status, said, wait)
    if status == 404:
        return ModelRefusedRequest(_say("The provider does not know this model or address", status, said),
                                   suggestion="Check the model's name and the base URL.")  # fmt: skip
    if status is None:
        return _transient(status, said, wait)
    return ModelRefusedRequest(_say("The provider refused the request", status, said))


def _is_too_long(status: int | None, words: str) -> bool:
    if status == 429:
        # A limit of tokens a minute sounds much the same; only a single request over it is too long.
        return bool(re.search(r"request too large|context (length|window)|maximum context", words, re.IGNORECASE))
    return status in (413, 414) or (status in (None, 400, 422, 500, 503) and bool(_CONTEXT.search(words)))


def _is_quota(status: int | None, complaint: Complaint, wait: float | None) -> bool:
    if status == 402 or "insufficient_quota" in complaint.codes:
        return True
    # Some call their limit per minute a quota too: where a wait is named, waiting helps.
    return bool(_QUOTA.search(complaint.words)) and wait is None


def _transient(status: int | None, said: str, wait: float | None) -> ModelError:
    text = _say("The model's server reports a problem of its own", status, said)
    return ModelRateLimited(text, retry_after=wait) if wait is not None else ModelTransient(text)


def _say(what: str, status: int | None, said: str) -> str:
    shown = f" ({status})" if status else ""
    if not said and status and status in HTTPStatus._value2member_map_:
        said = HTTPStatus(status).phrase
    return f"{what}{shown}: {said}" if said else f"{what}{shown}."


def tidy(text: str, secret: str = "") -> str:
    """One line that can be stored, no markup, no keys, not too long."""
    text = mend_surrogates(text).replace("\x00", " ")
    if secret and len(secret) > 3:
        text = text.replace(secret, "…")
    text = _SECRET.sub("…", re.sub(r"<[^>]{1,200}>", " ", text))
    text = " ".join(text.split())
    return text if len(text) <= DETAIL_LIMIT_CHARS else text[:DETAIL_LIMIT_CHARS] + "…"


# ---------------------------------------------------------------- how long to wait
def retry_after(headers: Mapping[str, str], message: str = "") -> float | None:
    """Seconds that the server asks to wait: milliseconds, seconds or date in a header, or a hint in the text."""
    milliseconds = _float(headers.get("retry-after-ms") or headers.get("x-ms-retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "").strip()
    if value:
        found = _header_seconds(value)
        if found is not None:
            return found
    return _hinted(message)


def _header_seconds(value: str) -> float | None:
    unit = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s)?", value)
    if unit:
        return float(unit.group(1)) / (1000 if unit.group(2) == "ms" else 1)
    from email.utils import parsedate_to_datetime  # a slow import for a rare header

    try:
        moment = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _hinted(message: str) -> float | None:
    found = _HINT.search(message)
    if found:
        hours, minutes, amount, unit = found.groups()
        seconds = float(amount) / (1000 if unit.lower().startswith("m") else 1)
        return seconds + 60 * int(minutes or 0) + 3600 * int(hours or 0)
    chinese = _HINT_ZH.search(message)
    if chinese:
        return float(chinese.group(1)) * {"毫秒": 0.001, "秒": 1.0, "分钟": 60.0}[chinese.group(2)]
    return None


def _float(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None
