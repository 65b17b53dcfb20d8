"""Whatever the history, the request is legal: random ones, cut, edited, reordered, with ids reused, doubled and lost."""

import copy
import json
from types import SimpleNamespace

import pytest
from agent_kit import problems
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from backend.agent import history, tokens
from backend.agent.types import Message, ToolCallRequest

EXAMPLES, FULL_EXAMPLES = 500, 10_000
SEED = 20260131

ids = st.sampled_from(["a", "b", "c", "a_2", "call_1", ""])
texts = st.one_of(
    st.none(),
    st.sampled_from(["", " ", "ok", "\u200b", "天気", "</tool_output>", "{}"]),
    st.text(max_size=30),
    st.sampled_from([1, 40, 600, 9_000]).map(lambda n: "word 12, " * n),
)
arguments = st.sampled_from(["{}", '{"a": 1}', "", "[1]", '{"a":', "null", '{"x": "%s"}' % ("long " * 400)])
names = st.sampled_from(["read", "write", "no such tool!", "", " ", None])
calls = st.lists(st.builds(ToolCallRequest, ids, names, arguments), max_size=4).map(tuple)
keys = st.sampled_from(["", "k1", "k2", "k3", "k4", "k5"])
parts = st.lists(
    st.one_of(
        st.builds(lambda t: {"type": "text", "text": t}, st.text(max_size=20)),
        st.just({"type": "image_url", "image_url": {"url": "data:,"}}),
    ),
    max_size=3,
)
messages = st.one_of(
    st.builds(Message, st.just("user"), st.one_of(texts, parts), key=keys),
    st.builds(Message, st.just("assistant"), texts, calls, key=keys),
    st.builds(
        Message, st.just("tool"), texts, tool_call_id=st.one_of(st.none(), ids), key=keys, read_only=st.booleans()
    ),
    st.builds(Message, st.just("system"), texts, key=keys),
)


@st.composite
def sound_histories(draw):
    """A history as the engine writes it."""
    out = []
    for turn in range(draw(st.integers(1, 6))):
        out.append(Message("user", f"question {turn} " * draw(st.sampled_from([1, 50])), key=f"u{turn}"))
        for step in range(draw(st.integers(0, 3))):
            own = [ToolCallRequest(f"c{n}", "read", '{"n": 1}') for n in range(draw(st.integers(1, 3)))]
            out.append(Message("assistant", draw(st.sampled_from([None, "text"])), tuple(own), key=f"a{turn}.{step}"))
            size = draw(st.sampled_from([1, 300, 3_000]))
            out += [
                Message(
                    "tool", "data " * size, tool_call_id=c.id, name="read", key=f"r{turn}.{step}.{c.id}", read_only=True
                )
                for c in own
            ]
        out.append(Message("assistant", "answer", key=f"z{turn}"))
    return out


@st.composite
def damaged_histories(draw):
    """A sound history with things cut out, doubled, swapped and put in."""
    out = draw(sound_histories())
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(out)))
        match draw(st.integers(0, 4)):
            case 0:
                out = out[:at]
            case 1:
                out = out[at:]
            case 2 if at < len(out):
                out.insert(draw(st.integers(0, len(out))), copy.deepcopy(out[at]))
            case 3 if at < len(out):
                out.insert(draw(st.integers(0, len(out) - 1)), out.pop(at))
            case _:
                out.insert(at, draw(messages))
    return out


histories = st.one_of(st.lists(messages, max_size=14), damaged_histories())
budgets = st.sampled_from([1, 60, 200, 600, 2_000, 8_000, 90_000])


def newest_turn_only(out):
    return sum(m.role == "user" and not m.key.startswith("@") for m in out) <= 1


def check(transcript, budget):
    before = copy.deepcopy(transcript)
    out, frontier = history.prepare(transcript, budget)
    assert transcript == before
    wire = history.to_wire(out)
    history.check_legal(wire)
    assert problems(SimpleNamespace(messages=wire)) == []
    assert [m["role"] for m in wire].count("system") <= 1
    if tokens.of_messages(out) > budget:
        assert newest_turn_only(out)
        assert all(len(m.content or "") <= 500 for m in out if m.role == "tool")
    frontier = json.loads(json.dumps(frontier))
    assert history.prepare(out, budget, frontier)[0] == out
    again, same = history.prepare(transcript, budget, frontier)
    assert again == out
    assert same == frontier


@seed(SEED)
@settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(histories, budgets)
def test_any_history_gives_a_legal_request_within_budget(transcript, budget):
    check(transcript, budget)


@pytest.mark.full
@pytest.mark.timeout(1_200)
@seed(SEED)
@settings(max_examples=FULL_EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(histories, budgets)
def test_any_of_ten_thousand_histories_gives_a_legal_request(transcript, budget):
    check(transcript, budget)


@seed(SEED)
@settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(sound_histories(), sound_histories())
def test_a_sound_history_that_fits_is_sent_as_it_is_and_only_grows(first, second):
    for n, message in enumerate(second):
        message.key = f"second{n}"
    first.append(Message("user", "next", key="next"))
    out, frontier = history.prepare(first, 10_000_000)
    assert out == first
    longer, _ = history.prepare([*first, Message("assistant", "so", key="so"), *second], 10_000_000, frontier)
    assert longer[: len(first)] == first
