#!/usr/bin/env python3
# ruff: noqa
# fmt: off
"""quirk_server - replays, byte for byte, publicly reported oddities of
"OpenAI-compatible" chat-completions servers.  Standard library only.

    python3 quirk_server.py [--port 8899] [--salt STRING] [--quiet]

How a client selects a scenario
    model "q-017"            (or "q-017@anything": one state per full model string,
                              so use a fresh suffix for every run)
    or path /s/q-017[@x]/v1/chat/completions (then the model name is free)

Endpoints
    POST .../chat/completions   the quirk
    GET  .../models             model list
    GET  /scenarios             id, title, setup and expected observable outcome
    GET  /runs/<model string>   what the server saw in that run
    GET  /health

What the driver must offer: tools calculator(expression), get_weather(city) and
file_list() (no required parameter).  calculator must really compute, and
get_weather's result must contain the city.  The agent loop must send the
user's message, run the requested tools and go on until a final text comes.

"expected" in /scenarios
    kind        final   the user must see `marker` exactly once
                error   the user must see an error, not a hang and not an empty reply
                either  one of the two is fine
    excludes    strings that must not be visible in the final text or error
    contains    strings that must be visible in the final text (final outcomes)
    error_any   at least one of these (case-insensitive) in the visible error
    tools       the exact multiset of tool executions that must have happened
    tools_dup   de-duplication is allowed: each listed execution at least once is enough
    tools_max   never more executions than this
    usage       [prompt, completion] totals of the run, when the scenario is about usage
    max_requests, min_gap_s (between request 1 and 2), deadline_s
"setup" says what the driver has to do differently:
    filler      so many filler user/assistant pairs of 400 characters before the user's message
    no_tools    offer no tools
A request that a real server of that kind would refuse is refused with a real-looking
4xx and noted as a violation; a follow-up that is legal but carries wrong tool results
gets a final text that starts with BAD and has no marker.
"""
import argparse
import hashlib
import hmac
import json
import os
import re
import socket
import struct
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

OMIT = object()
SCN = {}
RUNS = {}
LOCK = threading.Lock()
SALT = os.environ.get("QUIRK_SALT", "")
TICK = 0.002          # pause between two HTTP chunks, so that boundaries stay visible
QUIET = False
DONE = b"data: [DONE]\n\n"


def scn(sid, title, src, do, pub, setup=None, **exp):
    """Register one scenario."""
    def deco(fn):
        SCN[sid] = {"id": sid, "title": title, "src": src, "do": do, "public": pub,
                    "setup": setup or {}, "exp": exp, "fn": fn}
        return fn
    return deco


def marker(sid):
    return "MK" + hmac.new(SALT.encode(), sid.encode(), hashlib.sha256).hexdigest()[:10]


# ---------------------------------------------------------------- building blocks
def jd(o):
    return json.dumps(o, ensure_ascii=False, separators=(",", ":"))


def ev(o):
    return b"data: " + jd(o).encode() + b"\n\n"


def halves(s):
    m = max(1, len(s) // 2)
    return s[:m], s[m:]


def tcd(index=OMIT, id=OMIT, name=OMIT, args=OMIT, type=OMIT, **extra):
    """One entry of delta.tool_calls; OMIT leaves a key out."""
    fn = {}
    if name is not OMIT:
        fn["name"] = name
    if args is not OMIT:
        fn["arguments"] = args
    d = {}
    if index is not OMIT:
        d["index"] = index
    if id is not OMIT:
        d["id"] = id
    if type is not OMIT:
        d["type"] = type
    if fn:
        d["function"] = fn
    d.update(extra)
    return d


def tcs(*entries):
    return {"tool_calls": list(entries)}


def unescape(s):
    """Decode \\uXXXX sequences (any number of backslashes) in tool results."""
    s = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda m: chr(int(m.group(1), 16)), s)
    return s.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def flat(content):
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(p.get("text", "") if isinstance(p, dict) else str(p) for p in content)
    return jd(content)


class Refuse(Exception):
    """The request is not one this kind of server accepts."""

    def __init__(self, status, message, body=None, note=True, **err):
        super().__init__(message)
        self.status, self.note = status, note
        self.body = body if body is not None else {"error": dict(
            {"message": message, "type": "invalid_request_error", "param": None, "code": None}, **err)}


class Ctx:
    """One request inside one run of one scenario."""

    def __init__(self, h, sc, key, run, body):
        self.h, self.sc, self.key, self.run, self.body = h, sc, key, run, body
        self.id = sc["id"]
        self.num = int(self.id.split("-")[1])
        self.msgs = body.get("messages") or []
        self.n = run["n"]
        self.results = []
        for i, m in enumerate(self.msgs):
            if m.get("role") == "tool":
                name = None
                for p in reversed(self.msgs[:i]):
                    if p.get("role") == "assistant" and p.get("tool_calls"):
                        for t in p["tool_calls"]:
                            if t.get("id") == m.get("tool_call_id"):
                                name = (t.get("function") or {}).get("name")
                        break
                self.results.append((name, m.get("tool_call_id"), flat(m.get("content"))))
            elif m.get("role") == "function":
                self.results.append((m.get("name"), None, flat(m.get("content"))))

    # -- facts
    def T(self, k=0):
        a = 1000 * (k + 1) + self.num
        return "%d*77" % a, str(a * 77)

    def A(self, k=0):
        return json.dumps({"expression": self.T(k)[0]})

    def has(self, need, name=None):
        for n, _, c in self.results:
            if name is None or n == name:
                c = unescape(c)
                if need in c or need in c.replace(",", ""):
                    return True
        return False

    def seen_text(self, need):
        """Result handed back in any form (for tool calls that came as text)."""
        if self.has(need):
            return True
        first = next((i for i, m in enumerate(self.msgs) if m.get("role") == "assistant"), None)
        if first is None:
            return False
        return any(need in flat(m.get("content")).replace(",", "")
                   for m in self.msgs[first + 1:] if m.get("role") == "user")

    def last_call_msg(self):
        for m in reversed(self.msgs):
            if m.get("role") == "assistant" and m.get("tool_calls"):
                return m
        return None

    # -- chunks
    def ck(self, delta=None, fin=None, **extra):
        d = {"id": "chatcmpl-" + self.id, "object": "chat.completion.chunk", "created": 1700000000,
             "model": self.key,
             "choices": [{"index": 0, "delta": {} if delta is None else delta, "finish_reason": fin}]}
        d.update(extra)
        return d

    def usage_ck(self, p=11, q=7):
        d = self.ck(usage={"prompt_tokens": p, "completion_tokens": q, "total_tokens": p + q})
        d["choices"] = []
        return d

    def chunks(self, deltas, fin="tool_calls", role=True, usage=True):
        out = [self.ck({"role": "assistant", "content": ""})] if role else []
        out += [self.ck(d) for d in deltas]
        if fin is not OMIT:
            out.append(self.ck({}, fin))
        if usage and (self.body.get("stream_options") or {}).get("include_usage"):
            out.append(self.usage_ck())
        return out

    def stream(self, deltas, fin="tool_calls", role=True, usage=True, done=True):
        out = [ev(c) for c in self.chunks(deltas, fin, role, usage)]
        if done:
            out.append(DONE)
        return out

    def call(self, k=0, id="call_a", index=0, name="calculator"):
        """A well-behaved streamed tool call."""
        a, b = halves(self.A(k))
        return [tcs(tcd(index, id, name, "", "function")), tcs(tcd(index, args=a)), tcs(tcd(index, args=b))]

    # -- answers
    def sse(self, parts, **kw):
        self.need_stream()
        self.h.raw_sse(parts, **kw)

    def need_stream(self):
        if not self.body.get("stream"):
            raise Refuse(400, "this scenario replays a streaming quirk: send stream=true")

    def json(self, status, obj, headers=None, ctype="application/json"):
        data = obj if isinstance(obj, bytes) else jd(obj).encode()
        self.h.plain(status, data, ctype, headers or {})

    def text(self):
        return "All done for %s. %s" % (self.id, marker(self.id))

    def say(self, text, fin="stop"):
        """A well-behaved text answer, streamed or not as asked."""
        if self.body.get("stream"):
            third = max(1, len(text) // 3)
            parts = [text[i:i + third] for i in range(0, len(text), third)]
            self.h.raw_sse(self.stream([{"content": p} for p in parts], fin))
        else:
            self.json(200, {"id": "chatcmpl-" + self.id, "object": "chat.completion", "created": 1700000000,
                            "model": self.key,
                            "choices": [{"index": 0, "message": {"role": "assistant", "content": text},
                                         "finish_reason": fin}],
                            "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}})

    def done(self):
        self.run["finished"] = True
        self.say(self.text())

    def bad(self, why):
        self.run["violations"].append("BAD: " + why)
        self.say("BAD %s: %s" % (self.id, why))

    def one(self, parts):
        """Stage 0: parts; stage 1: the calculator result must be back."""
        if not self.results:
            return self.sse(parts)
        return self.fin([self.T()[1]])

    def two(self, parts):
        if not self.results:
            return self.sse(parts)
        return self.fin([self.T(0)[1], self.T(1)[1]])

    def fin(self, needs):
        miss = [n for n in needs if not self.has(n)]
        if miss:
            return self.bad("tool results lack %s (got %s)" % (miss, [r[2][:60] for r in self.results]))
        return self.done()

    def plain_call(self):
        """Stage 0 with a clean call, for quirks that live elsewhere."""
        return self.sse(self.stream(self.call()))


# ---------------------------------------------------------------- what every server insists on
def base_check(c):
    if not isinstance(c.msgs, list) or not c.msgs:
        raise Refuse(400, "messages must be a non-empty array")
    pending = None
    for i, m in enumerate(c.msgs):
        role = m.get("role")
        if role not in ("system", "developer", "user", "assistant", "tool", "function"):
            raise Refuse(400, "messages[%d].role %r is not valid" % (i, role))
        if role == "tool":
            tid = m.get("tool_call_id")
            if pending is None or tid not in pending:
                raise Refuse(400, "messages[%d]: role 'tool' must be a response to a preceding message with "
                                  "'tool_calls' (unknown or repeated tool_call_id %r)" % (i, tid))
            pending.discard(tid)
            if not isinstance(m.get("content"), (str, list)):
                raise Refuse(400, "messages[%d].content of a tool message must be text" % i)
            continue
        if pending:
            raise Refuse(400, "An assistant message with 'tool_calls' must be followed by tool messages responding "
                              "to each 'tool_call_id'. Missing: %s" % sorted(map(str, pending)))
        pending = None
        if role == "assistant" and m.get("tool_calls") is not None:
            calls = m["tool_calls"]
            if not isinstance(calls, list) or not calls:
                raise Refuse(400, "[] is too short - 'messages.%d.tool_calls'" % i)
            pending = set()
            for t in calls:
                fn = t.get("function") or {}
                if not isinstance(t.get("id"), str) or not t["id"]:
                    raise Refuse(400, "messages[%d].tool_calls: id must be a non-empty string" % i)
                if t["id"] in pending:
                    raise Refuse(400, "messages[%d].tool_calls: duplicate id %r" % (i, t["id"]))
                if not isinstance(fn.get("name"), str) or not fn["name"]:
                    raise Refuse(400, "messages[%d].tool_calls: function.name is missing" % i)
                if not isinstance(fn.get("arguments"), str):
                    raise Refuse(400, "messages[%d].tool_calls: function.arguments must be a string" % i)
                pending.add(t["id"])
        elif role == "assistant" and m.get("content") in (None, "", []) and not m.get("function_call"):
            if not any(k.startswith("reasoning") for k in m):
                raise Refuse(400, "messages[%d]: assistant message must have content or tool_calls" % i)
    if pending:
        raise Refuse(400, "tool_calls without tool messages: %s" % sorted(map(str, pending)))


def strict_args(c):
    for i, m in enumerate(c.msgs):
        for t in m.get("tool_calls") or []:
            a = t["function"]["arguments"]
            try:
                ok = isinstance(json.loads(a), dict)
            except ValueError:
                ok = False
            if not ok:
                raise Refuse(400, "<400> InternalError.Algo.InvalidParameter: The \"function.arguments\" parameter of "
                                  "messages.%d must be in JSON format." % i)


# ================================================================ A. tool-call deltas
@scn("q-001", "tool-call delta without `index` (single call, arguments in a second delta)",
     "openai/openai-python#2806; AstrBotDevs/AstrBot#6692", "treat an id-bearing delta as a new call, an id-less one as continuation", True,
     kind="final", tools=1)
def q001(c):
    a, b = halves(c.A())
    c.one(c.stream([tcs(tcd(id="call_a", name="calculator", args=a, type="function")), tcs(tcd(args=b))]))


@scn("q-003", "`index` is null; two calls; continuations carry neither id nor index",
     "EricLBuehler/mistral.rs#1507", "a continuation without any key belongs to the call opened last", True,
     kind="final", tools=2)
def q003(c):
    a0, b0 = halves(c.A(0))
    a1, b1 = halves(c.A(1))
    c.two(c.stream([tcs(tcd(None, "call_a", "calculator", a0, "function")), tcs(tcd(None, args=b0)),
                    tcs(tcd(None, "call_b", "calculator", a1, "function")), tcs(tcd(None, args=b1))]))


@scn("q-004", "parallel calls all say index 0, ids differ",
     "ai-dynamo/dynamo#4723; huggingface/smolagents#1958; su-kaka/gcli2api#406", "a new non-empty id under the same index opens a new call", True,
     kind="final", tools=2)
def q004(c):
    c.two(c.stream([tcs(tcd(0, "call_a", "calculator", c.A(0), "function")),
                    tcs(tcd(0, "call_b", "calculator", c.A(1), "function"))]))


@scn("q-007", "sparse indexes 0 and 2", "cline/cline#13123; BerriAI/litellm#5231", "no ghost call for the missing index", True,
     kind="final", tools=2)
def q007(c):
    c.two(c.stream(c.call(0, "call_a", 0) + c.call(1, "call_b", 2)))


@scn("q-008", "deltas of two parallel calls interleaved", "mozilla-ai/any-llm#1305; oracle/langchain-oracle#253", "route fragments by index, not to the last opened call", True,
     kind="final", tools=2)
def q008(c):
    a0, b0 = halves(c.A(0))
    a1, b1 = halves(c.A(1))
    c.two(c.stream([tcs(tcd(0, "call_a", "calculator", "", "function")), tcs(tcd(1, "call_b", "calculator", "", "function")),
                    tcs(tcd(0, args=a0)), tcs(tcd(1, args=a1)), tcs(tcd(1, args=b1), tcd(0, args=b0))]))


@scn("q-010", "continuations carry id \"\"", "symfony/ai#2220 (DashScope); spring-projects/spring-ai#6369", "only a non-empty id is an id", True,
     kind="final", tools=1)
def q010(c):
    a, b = halves(c.A())
    c.one(c.stream([tcs(tcd(0, "call_a", "calculator", "", "function")), tcs(tcd(0, "", args=a)), tcs(tcd(0, "", args=b))]))


@scn("q-013", "the call never gets an id", "BerriAI/litellm#33223, #29514; vllm-project/vllm#18412", "make up an id and use it in both messages", True,
     kind="final", tools=1)
def q013(c):
    a, b = halves(c.A())
    c.one(c.stream([tcs(tcd(0, name="calculator", args=a, type="function")), tcs(tcd(0, args=b))]))


@scn("q-015", "id repeated in every delta", "JetBrains/koog#2052", "a known id continues its call", True, kind="final", tools=1)
def q015(c):
    a, b = halves(c.A())
    c.one(c.stream([tcs(tcd(0, "call_a", "calculator", "", "function")), tcs(tcd(0, "call_a", args=a)), tcs(tcd(0, "call_a", args=b))]))


@scn("q-017", "function name repeated in every delta", "open-webui/open-webui#22177; continuedev/continue#5849", "an identical name is a repeat, not a fragment", True,
     kind="final", tools=1)
def q017(c):
    a, b = halves(c.A())
    c.one(c.stream([tcs(tcd(0, "call_a", "calculator", "", "function")), tcs(tcd(0, name="calculator", args=a)), tcs(tcd(0, name="calculator", args=b))]))


@scn("q-019", "the model calls a tool that does not exist", "tarasglek/chatcraft.org#178; tontinton/maki#505", "answer the call with an error result that lists the tools; go on", True,
     kind="final", tools=1)
def q019(c):
    if not c.results:
        return c.sse(c.stream([tcs(tcd(0, "call_x", "calculater_pro", c.A(), "function"))]))
    if len(c.results) == 1:
        return c.plain_call()
    return c.fin([c.T()[1]])


@scn("q-022", "the same id again in the next turn", "sgl-project/sglang#33343; editor-code-assistant/eca#233", "ids are unique per turn only: pair results inside the turn", True,
     kind="final", tools=2)
def q022(c):
    if not c.results:
        return c.sse(c.stream(c.call(0, "call_0")))
    if len(c.results) == 1:
        return c.sse(c.stream(c.call(1, "call_0")))
    return c.fin([c.T(0)[1], c.T(1)[1]])


@scn("q-023", "ids like functions.calculator:0 must come back verbatim", "vybestack/llxprt-code#713; MoonshotAI/kimi-code#2503", "echo ids unchanged unless the server objects", True,
     kind="final", tools=1)
def q023(c):
    if c.results and c.results[0][1] != "functions.calculator:0":
        return c.bad("id was rewritten to %r" % c.results[0][1])
    c.one(c.stream(c.call(id="functions.calculator:0")))


# ================================================================ B. arguments
@scn("q-025", "arguments is an object, not a string", "ggml-org/llama.cpp#20198; huggingface/text-generation-inference#2461; sipeed/picoclaw#1287",
     "accept objects; echo a JSON string", True, kind="final", tools=1)
def q025(c):
    c.one(c.stream([tcs(tcd(0, "call_a", "calculator", {"expression": c.T()[0]}, "function"))]))


def noarg(c, args):
    if not c.results:
        return c.sse(c.stream([tcs(tcd(0, "call_a", "file_list", args, "function"))]))
    strict_args(c)
    if re.search(r"json|parse|decod|argument", c.results[0][2], re.I) and re.search(r"error|invalid|fail", c.results[0][2], re.I):
        return c.bad("empty arguments were reported as an error: " + c.results[0][2][:80])
    return c.done()


@scn("q-026", "arguments \"\" for a tool without parameters; history must then hold valid JSON", "vllm-project/vllm#19419; SillyTavern/SillyTavern#4083",
     "empty means {}; echo \"{}\"", True, kind="final", tools=[["file_list", {}]])
def q026(c):
    noarg(c, "")


@scn("q-029", "arguments encoded twice (a JSON string holding JSON)", "quarkiverse/quarkus-langchain4j#2642; MoonshotAI/kimi-cli#2513",
     "if the parsed value is a string that parses to an object, unwrap it", True, kind="final", tools=1)
def q029(c):
    a, b = halves(json.dumps(c.A()))
    c.one(c.stream([tcs(tcd(0, "call_a", "calculator", a, "function")), tcs(tcd(0, args=b))]))


@scn("q-031", "Python-repr arguments with single quotes", "vllm-project/vllm#5649; NousResearch/atropos#478", "fall back to a Python-literal parse; never swap quotes blindly", True,
     kind="final", tools=[["get_weather", {"city": "Land's End"}]])
def q031(c):
    if c.results:
        return c.fin(["Land's End"])
    c.sse(c.stream([tcs(tcd(0, "call_a", "get_weather", "{'city': \"Land's End\"}", "function"))]))


def truncated(c, fin, strict):
    if strict:
        strict_args(c)
    if c.has(c.T()[1]):
        return c.done()
    if c.n == 1:
        return c.sse(c.stream([tcs(tcd(0, "call_a", "calculator", c.A()[:-9], "function"))], fin))
    if c.n > 4:
        return c.bad("no complete call was ever run")
    return c.sse(c.stream(c.call(id="call_again")))


@scn("q-032", "arguments cut off, finish_reason length", "NousResearch/hermes-agent#7680; XpressAI/xaibo#33", "do not run it; ask again or return an error result", True,
     kind="final", tools=1)
def q032(c):
    truncated(c, "length", False)


@scn("q-035", "the complete arguments are sent once more at the end", "vllm-project/vllm#51697; lidge-jun/opencodex#361; open-webui/open-webui#22235",
     "X followed by an identical X is X", True, kind="final", tools=1)
def q035(c):
    a, b = halves(c.A())
    c.one(c.stream([tcs(tcd(0, "call_a", "calculator", "", "function")), tcs(tcd(0, args=a)), tcs(tcd(0, args=b)), tcs(tcd(0, args=c.A()))]))


# ================================================================ C. finish_reason, choices, usage, content shape
@scn("q-038", "finish_reason stop although tools were called", "ollama/ollama#7963; googleapis/python-genai#2868; vllm-project/vllm#9209", "the calls decide, not the finish_reason", True,
     kind="final", tools=1)
def q038(c):
    c.one(c.stream(c.call(), "stop"))


@scn("q-041", "legacy delta.function_call instead of tool_calls", "can1357/oh-my-pi#1692; openai/openai-node#188", "map to one tool call", True, kind="final", tools=1)
def q041(c):
    a, b = halves(c.A())
    c.one(c.stream([{"function_call": {"name": "calculator", "arguments": ""}}, {"function_call": {"arguments": a}}, {"function_call": {"arguments": b}}], "function_call"))


@scn("q-043", "the last text rides on the finish chunk", "jeremychone/rust-genai#164 (Mistral)", "read delta and finish_reason of one chunk", True, kind="final", tools=0)
def q043(c):
    c.run["finished"] = True
    t = c.text()
    c.sse([ev(c.ck({"role": "assistant", "content": t[:9]})), ev(c.ck({"content": t[9:]}, "stop")), DONE])


@scn("q-045", "finish_reason content_filter after partial text", "agent0ai/agent-zero#1747; damianvtran/local-operator#187", "tell the user that the reply was filtered", True,
     kind="error", error_any=["filter", "过滤", "审核", "安全"], tools=0, max_requests=2)
def q045(c):
    c.sse(c.stream([{"content": "The first step is"}], "content_filter"))


@scn("q-047", "usage comes in a last chunk with empty choices", "XSpoonAI/spoon-core#179; awslabs/llmeter#34; Portkey-AI/gateway#1629", "guard choices[0]; record usage", True,
     kind="final", tools=1, usage=[200, 60])
def q047(c):
    if not c.results:
        return c.sse([ev(x) for x in c.chunks(c.call(), usage=False)] + [ev(c.usage_ck(90, 20)), DONE])
    if not c.has(c.T()[1]):
        return c.bad("result missing")
    c.run["finished"] = True
    c.sse([ev(x) for x in c.chunks([{"content": c.text()}], "stop", usage=False)] + [ev(c.usage_ck(110, 40)), DONE])


@scn("q-050", "chunks with choices null or without choices", "ROCm/ATOM#1711; zai-org/GLM-5#91", "treat as no choice", True, kind="final", tools=1)
def q050(c):
    u = c.usage_ck()
    del u["choices"]
    c.one([ev({"id": "", "object": "", "created": 0, "model": "", "choices": None, "usage": None})] + [ev(x) for x in c.chunks(c.call(), usage=False)] + [ev(u), DONE])


@scn("q-051", "filter preamble with empty choices, later an annotation choice without delta", "openai/openai-python#1677; microsoft/autogen#6465; spring-projects/spring-ai#7014 (Azure)",
     "skip chunks without choice or delta", True, kind="final", tools=1)
def q051(c):
    pre = {"choices": [], "created": 0, "id": "", "model": "", "object": "", "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}]}
    ann = {"id": "", "object": "", "created": 0, "model": "", "choices": [{"index": 0, "finish_reason": None, "content_filter_results": {}, "content_filter_offsets": {"check_offset": 4}}], "usage": None}
    x = [ev(y) for y in c.chunks(c.call(), usage=False)]
    c.one([ev(pre)] + x[:2] + [ev(ann)] + x[2:] + [ev(ann), DONE])


@scn("q-053", "content is a list of parts, thinking part first", "NousResearch/hermes-agent#4748, #94905; symfony/ai#2422; livekit/agents#6324 (Mistral)",
     "join text parts; thinking parts are reasoning", True, kind="final", tools=0, excludes=["SECRET-THOUGHT"])
def q053(c):
    c.run["finished"] = True
    a, b = halves(c.text())
    c.sse(c.stream([{"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "SECRET-THOUGHT"}]}]}, {"content": [{"type": "text", "text": a}]}, {"content": b}], "stop"))


@scn("q-056", "unknown extra fields, wrong object name, odd types", "davidmigloz/langchain_dart#778 (LongCat); openai/openai-python#1677; microsoft/foundry-local#144", "ignore what you do not know", True,
     kind="final", tools=1)
def q056(c):
    x = c.chunks(c.call(), usage=False)
    for i, y in enumerate(x):
        y.update({"object": "", "created": "1700000000", "lastOne": i == len(x) - 1, "provider": "x", "StreamEvent": None, "CreatedAt": "now", "usage": None,
                  "x_groq": {"id": "r"}, "error": None})
        y["choices"][0].update({"logprobs": None, "finish_details": None, "matched_stop": 7, "native_finish_reason": None, "name": None})
    c.one([ev(y) for y in x] + [DONE])


@scn("q-057", "stream=true is ignored: plain JSON body", "tinyhumansai/tinyagents#56; earendil-works/pi#2537", "look at the body, not at the wish: parse as one completion", True,
     kind="final", tools=1)
def q057(c):
    if c.results and not c.has(c.T()[1]):
        return c.bad("result missing")
    if c.results:
        c.run["finished"] = True
        msg, fin = {"role": "assistant", "content": c.text()}, "stop"
    else:
        msg, fin = {"role": "assistant", "content": None, "tool_calls": [{"id": "call_a", "type": "function", "function": {"name": "calculator", "arguments": c.A()}}]}, "tool_calls"
    c.json(200, {"id": "x", "object": "chat.completion", "created": 1, "model": c.key, "choices": [{"index": 0, "message": msg, "finish_reason": fin}],
                 "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}})


@scn("q-059", "completely empty reply, finish stop", "NousResearch/hermes-agent#6488; dust-tt/dust#29534; google/adk-python#5006", "retry or nudge a bounded number of times, never show an empty answer", True,
     kind="final", tools=0, max_requests=4)
def q059(c):
    if c.n == 1:
        return c.sse(c.stream([{"content": ""}], "stop"))
    c.done()


@scn("q-061", "connection stays open after [DONE]", "agentscope-ai/agentscope-java#2073", "[DONE] ends the reply; do not wait for EOF", True, kind="final", tools=1, deadline_s=12)
def q061(c):
    if c.results:
        return c.fin([c.T()[1]])
    c.sse(c.stream(c.call()) + [20.0], hold=True)


# ================================================================ D. reasoning
@scn("q-062", "reasoning_content must be sent back with the tool call", "continuedev/continue#10193, #11285; mnfst/llm-gateway#992 (DeepSeek)", "store it with the turn and echo it (at least when the server asks)", True,
     kind="final", tools=1, excludes=["THOUGHT-62"], max_requests=4)
def q062(c):
    m = c.last_call_msg()
    if m is not None and "reasoning_content" not in m:
        raise Refuse(400, "Missing `reasoning_content` field in the assistant message at message index %d." % c.msgs.index(m), code="invalid_request_error")
    c.one(c.stream([{"content": None, "reasoning_content": "THOUGHT"}, {"content": None, "reasoning_content": "-62"}] + c.call()))


@scn("q-065", "<think> block inside content, tags split over chunks", "MihaiBuilds/memory-vault#152; LibreChat-AI/agents#40; linshenkx/prompt-optimizer#348", "stateful split with a small hold-back buffer", True,
     kind="final", tools=0, excludes=["THOUGHT-65", "think>", "<thi"])
def q065(c):
    c.run["finished"] = True
    c.sse(c.stream([{"content": x} for x in ["<th", "ink>THOUGHT", "-65</thi", "nk>\n\n"] + list(halves(c.text()))], "stop"))


@scn("q-068", "extra_content.google.thought_signature of a call must be sent back", "openai/openai-python#2758; langroid/langroid#969; Gitlawb/openclaude#67 (Gemini)", "keep unknown keys of a tool call and echo them", True,
     kind="final", tools=1, max_requests=3)
def q068(c):
    m = c.last_call_msg()
    if m is not None and ((m["tool_calls"][0].get("extra_content") or {}).get("google") or {}).get("thought_signature") != "SiG+/=68":
        raise Refuse(400, "", body=[{"error": {"code": 400, "message": "Function call is missing a thought_signature in functionCall parts.", "status": "INVALID_ARGUMENT"}}])
    c.one(c.stream([tcs(tcd(0, "call_a", "calculator", c.A(), "function", extra_content={"google": {"thought_signature": "SiG+/=68"}}))]))


# ================================================================ E. tool calls written as text
def as_text(c, pieces):
    need = c.T()[1]
    if c.seen_text(need):
        return c.done()
    if c.n > 3:
        return c.bad("the call written as text was never run")
    return c.sse(c.stream([{"content": p} for p in pieces], "stop"))


@scn("q-070", "<tool_call>{json}</tool_call> in content, finish stop", "waybarrios/vllm-mlx#107; nugget/thane-ai-agent#21", "recover calls from text when no structured call came", True,
     kind="final", tools=1, excludes=["<tool_call>"])
def q070(c):
    as_text(c, ["I will compute.\n<tool", "_call>\n{\"name\": \"calculator\", \"arguments\": ", c.A(), "}\n</tool_", "call>"])


@scn("q-073", "[TOOL_CALLS] JSON array in content", "ai-dynamo/frontend-crates#60; vllm-project/vllm#17585", "recover this dialect too", True, kind="final", tools=1, excludes=["[TOOL_CALLS]"])
def q073(c):
    as_text(c, ["[TOOL_", "CALLS][{\"name\": \"calculator\", \"arguments\": ", c.A(), "}]"])


@scn("q-076", "markup residue in content next to a proper call", "stdapi-ai/stdapi.ai#182; unslothai/unsloth#5735", "strip the residue; run the structured call once", True, kind="final", tools=1, excludes=["DSML"])
def q076(c):
    c.one(c.stream([{"content": "Computing.\n"}, {"content": "<｜DSML｜function_calls"}] + c.call()))


# ================================================================ F. SSE framing
@scn("q-078", "comment lines as keep-alive", "brainlid/langchain#569; mckinsey/agents-at-scale-ark#2519 (OpenRouter, Anthropic)", "ignore lines that start with a colon; an event without data is no event", True, kind="final", tools=1)
def q078(c):
    out = []
    for p in c.stream(c.call()):
        out += [b": OPENROUTER PROCESSING\n\n", p, b": ping\n"]
    c.one(out)


@scn("q-081", "no space after data:", "openai/openai-python#498; davidmigloz/langchain_dart#778; aaif-goose/goose#7929", "the space is optional", True, kind="final", tools=1)
def q081(c):
    c.one([p.replace(b"data: ", b"data:", 1) for p in c.stream(c.call())])


@scn("q-082", "CRLF line ends, CR and LF in different chunks", "rexxars/eventsource-parser#17; hey-api/hey-api#3054; Continuum-AI-Corp/OrcaRouter-Lite#98", "CR LF is one line end, also across reads", True, kind="final", tools=1)
def q082(c):
    blob = b"".join(c.stream(c.call())).replace(b"\n", b"\r\n")
    c.one(re.findall(rb"(?s).*?\r(?=\n)|.+$", blob))


@scn("q-085", "UTF-8 BOM before the first event", "openai/openai-python#3819; rossoctl/cortex#1034; Effect-TS/effect#6976", "strip one leading BOM", True, kind="final", tools=1)
def q085(c):
    a, b = halves(c.A())
    x = c.stream([tcs(tcd(0, "call_a", "calculator", a, "function")), tcs(tcd(0, args=b))], role=False)
    c.one([b"\xef\xbb", b"\xbf" + x[0]] + x[1:])


@scn("q-086", "no [DONE], orderly end", "huggingface/text-generation-inference#1896; ikawrakow/ik_llama.cpp#467", "finish_reason plus EOF is complete", True, kind="final", tools=1)
def q086(c):
    c.one(c.stream(c.call(), done=False))


CITY = "北京市🌧"


@scn("q-087", "one byte per chunk, multi-byte characters in the arguments", "librefang/librefang#3448; anomalyco/opencode#39694; danielmiessler/Fabric#2203", "decode incrementally or per event", True, kind="final", tools=[["get_weather", {"city": CITY}]])
def q087(c):
    if c.results:
        return c.fin([CITY])
    blob = b"".join(c.stream([tcs(tcd(0, "call_a", "get_weather", json.dumps({"city": CITY}, ensure_ascii=False), "function"))]))
    c.sse([blob[i:i + 1] for i in range(len(blob))], tick=0.0005)


# ================================================================ G. errors, retries, transport
@scn("q-091", "error object as first event of a 200 stream", "apache/rocketmq-dashboard#2178; openclaw/clawrouter#101; langchain-ai/langchainjs#11579", "an error event is an error: retry if transient, else show its message", True,
     kind="either", error_any=["capacity"], tools=0, max_requests=5)
def q091(c):
    if c.n == 1:
        return c.sse([ev({"error": {"message": "Worker capacity reached (33/32)", "type": "server_error", "code": 502}}), DONE])
    c.done()


@scn("q-093", "HTTP 200 with a JSON error body and choices null", "openai/openai-agents-python#2850; xyOz-dev/Saturn#43; langchain-ai/langchainjs#11417", "find the error before touching choices", True,
     kind="either", error_any=["rate limited upstream"], tools=0, max_requests=5)
def q093(c):
    if c.n == 1:
        return c.json(200, {"id": None, "choices": None, "error": {"message": "Provider returned error: rate limited upstream", "code": 429}})
    c.done()


@scn("q-094", "HTML 502 page, then fine", "letta-ai/letta-code#1179; earendil-works/pi#6673", "retry; never show the page", True, kind="final", tools=0, excludes=["<html"])
def q094(c):
    if c.n == 1:
        return c.json(502, b"<!DOCTYPE html><html><head><title>502 Bad gateway</title></head><body>cloud edge, Ray ID 1</body></html>", ctype="text/html")
    c.done()


def limited(c, headers, body=None, status=429):
    if c.n == 1:
        return c.json(status, body or {"error": {"message": "Rate limit reached", "type": "rate_limit_error", "code": "rate_limit_exceeded"}}, headers)
    return c.done()


@scn("q-096", "429 with Retry-After: 2", "CopilotKit/CopilotKit#3842; nextcloud/integration_openai#359", "wait that long, then retry", True, kind="final", tools=0, min_gap_s=1.9, deadline_s=20)
def q096(c):
    limited(c, {"Retry-After": "2"})


@scn("q-099", "429 insufficient_quota", "langchain-ai/langchainjs#1929; 2389-research/tracker#547; Gitlawb/openclaude#249", "not a rate limit: no retry, say why", True, kind="error", error_any=["quota", "billing", "额度", "配额"], tools=0, max_requests=1)
def q099(c):
    c.json(429, {"error": {"message": "You exceeded your current quota, please check your plan and billing details.", "type": "insufficient_quota", "param": None, "code": "insufficient_quota"}})


@scn("q-100", "500, then 503 loading model, then fine", "mostlygeek/llama-swap#146; canonical/inference-snaps#234", "bounded back-off", True, kind="final", tools=0, deadline_s=30)
def q100(c):
    if c.n == 1:
        return c.json(500, {"error": {"message": "internal error", "type": "server_error"}})
    if c.n == 2:
        return c.json(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})
    c.done()


@scn("q-102", "401 invalid key", "OpenHands/OpenHands#483; bespokelabsai/curator#203; Gitlawb/openclaude#1356", "no retry, clear message", True, kind="error", error_any=["key", "401", "auth", "密钥"], tools=0, max_requests=1)
def q102(c):
    c.json(401, {"error": {"message": "Incorrect API key provided: sk-***", "type": "invalid_request_error", "code": "invalid_api_key"}})


LIMIT = 9000


def too_long(c, status, body):
    size = sum(len(flat(m.get("content"))) for m in c.msgs)
    if c.n == 1 or size > LIMIT:
        if size <= LIMIT and c.n == 1:
            c.run["violations"].append("setup: filler messages are missing")
        if c.n > 1 and size >= c.run.get("size", 10 ** 9):
            c.run["violations"].append("request did not shrink (%d)" % size)
        c.run["size"] = size
        return c.json(status, body)
    return c.done()


@scn("q-103", "context overflow, wording 1 (maximum context length … however your messages resulted in)", "cline/cline#13194; chathub-dev/chathub#126", "shorten the history and retry; never resend the same", True,
     setup={"filler": 30}, kind="final", tools=0, max_requests=5)
def q103(c):
    too_long(c, 400, {"error": {"message": "This model's maximum context length is 4097 tokens. However, your messages resulted in 6294 tokens. Please reduce the length of the messages.",
                                "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}})


@scn("q-107", "stream_options refused", "vercel/ai#1578; QuantumNous/new-api#418; anomalyco/opencode#31156", "drop the parameter, retry, remember", True, kind="final", tools=1, max_requests=5)
def q107(c):
    if "stream_options" in c.body:
        raise Refuse(400, "property 'stream_options' is unsupported, did you mean 'stream'?", note=False)
    c.one(c.stream(c.call()))


@scn("q-109", "max_tokens refused in favour of max_completion_tokens", "teilomillet/gollm#33; anomalyco/opencode#37964", "rename the parameter and retry", True, kind="final", tools=0, max_requests=4)
def q109(c):
    if "max_tokens" in c.body:
        raise Refuse(400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", note=False, param="max_tokens", code="unsupported_parameter")
    c.done()


@scn("q-113", "streaming refused", "RooCodeInc/Roo-Code#274; langgenius/dify#8615", "retry without stream", True, kind="final", tools=1, max_requests=4)
def q113(c):
    if c.body.get("stream"):
        raise Refuse(400, "Unsupported value: 'stream' does not support true with this model. Only the default (false) value is supported.", note=False, param="stream", code="unsupported_value")
    if "stream_options" in c.body:
        raise Refuse(400, "The 'stream_options' parameter is only allowed when 'stream' is enabled.", param="stream_options")
    if c.results:
        return c.fin([c.T()[1]])
    c.json(200, {"id": "x", "object": "chat.completion", "created": 1, "model": c.key, "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": None, "refusal": None, "tool_calls": [{"id": "call_a", "type": "function", "function": {"name": "calculator", "arguments": c.A()}}]}}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}})


@scn("q-115", "connection reset before any byte, then fine", "AgentFlocks/flocks#515; bytedance/deer-flow#1923", "retry", True, kind="final", tools=0, deadline_s=20)
def q115(c):
    if c.n == 1:
        return c.h.reset()
    c.done()


@scn("q-117", "EOF in the middle of tool arguments, no finish_reason, no [DONE]", "2389-research/tracker#544", "an unfinished reply is not a reply: run nothing, retry or error", True,
     kind="either", error_any=["connection", "incomplete", "closed", "truncat", "interrupt", "peer", "stream", "连接", "中断", "json"], tools=1, tools_max=1, deadline_s=20)
def q117(c):
    if c.has(c.T()[1]):
        return c.done()
    if c.n == 1:
        return c.sse(c.stream(c.call())[:3], end="eof")
    if c.results:
        return c.bad("a half-received call was executed")
    return c.plain_call()


@scn("q-118", "silence in mid-stream", "earendil-works/pi#3352; bigduu/Bamboo-agent#102; MoonshotAI/kimi-code#1799", "idle time-out, then retry or error (configure it to at most 5 s here)", True,
     kind="either", error_any=["time", "stall", "idle", "超时"], tools=0, deadline_s=25)
def q118(c):
    if c.n == 1:
        return c.sse([ev(c.ck({"content": "one moment"})), 40.0], hold=True)
    c.done()


# ================================================================ H. what the follow-up request must look like
@scn("q-121", "assistant content \"\" next to tool_calls is refused", "vercel/ai#13744, #14612; BerriAI/litellm#42186 (Bedrock, Moonshot)", "send null (or omit) when there is no text", True, kind="final", tools=1, max_requests=4)
def q121(c):
    for m in c.msgs:
        if m.get("role") == "assistant" and m.get("tool_calls") and (m.get("content") == "" or isinstance(m.get("content"), list)):
            raise Refuse(400, "ValidationException: messages: text content blocks must be non-empty")
    c.one(c.stream(c.call()))


@scn("q-124", "tool messages need `name`", "NousResearch/hermes-agent#19728; router-for-me/CLIProxyAPI#5859; vectorize-io/hindsight#187 (Gemini)", "always send name with a tool result", True, kind="final", tools=1, max_requests=3)
def q124(c):
    for i, m in enumerate(c.msgs):
        if m.get("role") == "tool" and m.get("name") != "calculator":
            raise Refuse(400, "", body=[{"error": {"code": 400, "message": "* GenerateContentRequest.contents[%d].parts[0].function_response.name: Name cannot be empty.\n" % i, "status": "INVALID_ARGUMENT"}}])
    c.one(c.stream(c.call()))


@scn("q-125", "no id given, and made-up ids must be 9 alphanumerics", "anomalyco/opencode#1680; langchain-ai/langchain#24668; jundot/omlx#1997 (Mistral)", "make up 9-character alphanumeric ids, or rewrite them on this error", True, kind="final", tools=1, max_requests=3)
def q125(c):
    for m in c.msgs:
        for t in m.get("tool_calls") or []:
            if not re.fullmatch(r"[a-zA-Z0-9]{9}", t["id"]):
                raise Refuse(400, "", body={"object": "error", "message": "Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9." % t["id"], "type": "invalid_function_call", "param": None, "code": "3280"})
    a, b = halves(c.A())
    c.one(c.stream([tcs(tcd(0, name="calculator", args=a, type="function")), tcs(tcd(0, args=b))]))


@scn("q-127", "three parallel calls: good, unparsable, unknown tool - all need an answer", "agno-agi/agno#3105; langgenius/dify-official-plugins#2352; NorthlandPositronics/Cogtrix#2238", "one tool message for every id, errors included", True, kind="final", tools=1)
def q127(c):
    if not c.results:
        return c.sse(c.stream([tcs(tcd(0, "call_a", "calculator", c.A(), "function")), tcs(tcd(1, "call_b", "calculator", "??? not json", "function")), tcs(tcd(2, "call_c", "no_such_tool", "{}", "function"))]))
    if len(c.results) < 3:
        return c.bad("only %d of 3 calls were answered" % len(c.results))
    return c.fin([c.T()[1]])


@scn("q-129", "empty tools list, or tool parameters without tools, are refused", "earendil-works/pi#3649; vllm-project/vllm#39780, #9426; openai/swarm#30", "leave tools, tool_choice and parallel_tool_calls out when there are none", True, setup={"no_tools": True}, kind="final", tools=0, max_requests=2)
def q129(c):
    if "tools" in c.body and not c.body["tools"]:
        raise Refuse(400, "[] is too short - 'tools'")
    for p in ("tool_choice", "parallel_tool_calls"):
        if p in c.body and not c.body.get("tools"):
            raise Refuse(400, "Invalid value for '%s': '%s' is only allowed when 'tools' are specified." % (p, p), param=p)
    c.done()


@scn("q-133", "the same call again in the next turn", "sgl-project/sglang#33343; lmstudio-ai/lmstudio-bug-tracker#1756", "a cached answer is fine, but it must be an answer with the value", True, kind="final", tools=1, tools_dup=True)
def q133(c):
    if not c.results:
        return c.sse(c.stream(c.call(0, "call_a")))
    if len(c.results) == 1:
        return c.sse(c.stream(c.call(0, "call_b")))
    if c.T()[1] not in c.results[1][2].replace(",", ""):
        return c.bad("second answer lacks the value: " + c.results[1][2][:60])
    return c.done()


@scn("q-137", "429 whose only hint is in the message: try again in 1.8s", "Aider-AI/aider#3265; danielmiessler/Fabric#364 (Groq)", "read the hint from the text when no header is there", True,
     kind="final", tools=0, min_gap_s=1.7, deadline_s=20)
def q137(c):
    limited(c, {}, {"error": {"message": "Rate limit reached for model `m` on tokens per minute (TPM): Limit 7000, Used 6900, Requested 300. Please try again in 1.8s.", "type": "tokens", "code": "rate_limit_exceeded"}})


# ---------------------------------------------------------------- HTTP
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "quirk/1"

    def log_message(self, fmt, *a):
        if not QUIET:
            BaseHTTPRequestHandler.log_message(self, fmt, *a)

    def setup(self):
        BaseHTTPRequestHandler.setup(self)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def plain(self, status, data, ctype="application/json", headers=None):
        self.send_response(status)
        self.send_header("Content-Type", ctype)
        self.send_header("Content-Length", str(len(data)))
        for k, v in (headers or {}).items():
            self.send_header(k, v)
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()
        self.last_status = status

    def raw_sse(self, parts, ctype="text/event-stream", end="ok", hold=False, tick=None):
        """Every bytes item becomes exactly one HTTP chunk; a float is a pause."""
        self.send_response(200)
        self.send_header("Content-Type", ctype)
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        if end != "ok" or hold:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        self.last_status = 200
        try:
            for p in parts:
                if isinstance(p, float):
                    stop = time.time() + p
                    while time.time() < stop:
                        time.sleep(min(0.25, max(0.001, stop - time.time())))
                        if p > 1 and self.gone():
                            return
                    continue
                self.connection.sendall(b"%x\r\n" % len(p) + p + b"\r\n")
                time.sleep(TICK if tick is None else tick)
            if end == "rst":
                return self.reset()
            if end == "eof":
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_WR)
                return
            self.connection.sendall(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True


    def gone(self):
        try:
            return self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def reset(self):
        self.last_status = 0
        self.close_connection = True
        try:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.wfile.flush()
        except OSError:
            pass
        self.rfile.close()
        self.connection.close()

    def finish(self):
        try:
            BaseHTTPRequestHandler.finish(self)
        except (OSError, ValueError):
            pass

    def do_GET(self):
        path = self.path.split("?")[0].rstrip("/")
        if path == "/scenarios":
            return self.plain(200, jd([describe(s) for s in SCN.values()]).encode())
        if path.startswith("/runs/"):
            with LOCK:
                return self.plain(200, jd(RUNS.get(path[6:], {})).encode())
        if path.endswith("/models"):
            return self.plain(200, jd({"object": "list", "data": [{"id": i, "object": "model", "created": 0, "owned_by": "quirk"} for i in SCN]}).encode())
        if path == "/health":
            return self.plain(200, b"{\"ok\":true}")
        self.plain(404, b"{\"error\":{\"message\":\"no such path\"}}")

    def do_POST(self):
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.split("?")[0]
        if not path.rstrip("/").endswith("/chat/completions"):
            return self.plain(404, b"{\"error\":{\"message\":\"no such path\"}}")
        try:
            body = json.loads(data)
        except ValueError:
            return self.plain(400, b"{\"error\":{\"message\":\"request body is not JSON\"}}")
        m = re.match(r"/s/([^/]+)/", path)
        key = m.group(1) if m else str(body.get("model", ""))
        sc = SCN.get(key.split("@")[0])
        if sc is None:
            return self.plain(404, jd({"error": {"message": "The model `%s` does not exist" % key, "code": "model_not_found"}}).encode())
        with LOCK:
            run = RUNS.setdefault(key, {"n": 0, "finished": False, "violations": [], "log": []})
            run["n"] += 1
            rec = {"t": round(time.time(), 3), "bytes": len(data), "params": sorted(k for k in body if k != "messages"),
                   "roles": [x.get("role") for x in body.get("messages") or [] if isinstance(x, dict)]}
            run["log"].append(rec)
        c = Ctx(self, sc, key, run, body)
        self.last_status = None
        try:
            try:
                json.dumps(body, ensure_ascii=False).encode("utf-8")
            except UnicodeEncodeError:
                raise Refuse(400, "request body holds an unpaired surrogate")
            base_check(c)
            if run["n"] > 12:
                raise Refuse(400, "scenario %s: more than 12 requests" % sc["id"])
            offered = {(t.get("function") or {}).get("name") for t in body.get("tools") or []}
            if sc["exp"].get("tools") and not {"calculator", "get_weather", "file_list"} <= offered and run["n"] == 1:
                raise Refuse(400, "driver: offer the tools calculator, get_weather and file_list")
            sc["fn"](c)
        except Refuse as e:
            if e.note:
                run["violations"].append("%d %s" % (e.status, jd(e.body)[:300]))
            self.plain(e.status, jd(e.body).encode())
        except OSError:
            self.close_connection = True
        rec["status"] = self.last_status


def describe(s):
    e = dict(s["exp"])
    kind = e.pop("kind")
    want = {"kind": kind}
    if kind != "error" and not e.pop("no_marker", False):
        want["marker"] = marker(s["id"])
    want["tools"] = expected_tools(s, e.pop("tools", 0))
    want.update(e)
    return {"id": s["id"], "title": s["title"], "setup": s["setup"], "expected": want, "public": s["public"], "do": s["do"], "source": s["src"]}


def expected_tools(s, n):
    """Names and arguments of the executions that must have happened."""
    if isinstance(n, list):
        return n
    num = int(s["id"].split("-")[1])
    return [["calculator", {"expression": "%d*77" % (1000 * (k + 1) + num)}] for k in range(n)]


def main():
    global SALT, QUIET
    ap = argparse.ArgumentParser(description="replay quirks of OpenAI-compatible servers")
    ap.add_argument("--host", default="127.0.0.1")
    ap.add_argument("--port", type=int, default=8899)
    ap.add_argument("--salt", default=SALT or os.urandom(6).hex())
    ap.add_argument("--quiet", action="store_true")
    a = ap.parse_args()
    SALT, QUIET = a.salt, a.quiet
    srv = ThreadingHTTPServer((a.host, a.port), Handler)
    srv.daemon_threads = True
    print("quirk_server: %d scenarios on http://%s:%d" % (len(SCN), a.host, srv.server_address[1]), flush=True)
    try:
        srv.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
