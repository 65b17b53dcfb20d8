"""The token budget: what is compacted, cut and left out, and that it stays so (NB-CTX); counting and correcting tokens."""

import copy
import itertools
import json

import pytest
from agent_kit import asks, call, problems, says

from backend.agent import history, tokens
from backend.agent.retry import RequestBudget
from backend.agent.types import Message, Usage
from backend.errors import ContextTooLong


def turn(number, size=1_000, read_only=True, name="read"):
    """A user message, a call and its result of about `size` characters."""
    return [
        Message("user", f"question {number}", key=f"u{number}"),
        *round_(number, size, read_only, name),
    ]


def round_(number, size=1_000, read_only=True, name="read"):
    text = (f"word{number} " * size)[:size]
    return [
        Message("assistant", None, (call(name, id=f"c{number}"),), key=f"a{number}"),
        Message("tool", text, tool_call_id=f"c{number}", name=name, key=f"r{number}", read_only=read_only),
    ]


def one_run(rounds, **fields):
    return [Message("user", "do it", key="u"), *(m for n in range(rounds) for m in round_(n, **fields))]


def results(messages):
    return [m.content for m in messages if m.role == "tool"]


def compacted(messages):
    return [at for at, text in enumerate(results(messages)) if "left out to save room" in text]


def test_nb_ctx_01_a_result_over_the_limit_is_cut_with_a_visible_notice():
    whole = "".join(f"{n:05d}" for n in range(4_000))
    out = history.prepare([*one_run(1)[:2], Message("tool", whole, tool_call_id="c0", name="read")], 90_000)[0]
    text = results(out)[0]
    assert len(text) < 16_500
    assert text.startswith(whole[:10_000])
    assert text.endswith(whole[-3_000:])
    assert "of 20000 characters" in text


def test_nb_ctx_02_a_reader_that_pages_itself_under_the_limit_is_whole():
    # Ours: one limit for all results; file_read stays under it by paging, so what it returns arrives whole.
    out = history.prepare(one_run(1, size=16_000), 90_000)[0]
    assert results(out) == results(one_run(1, size=16_000))


def test_nb_ctx_03_without_pressure_nothing_changes_and_the_prefix_is_stable():
    transcript = one_run(15)
    first, frontier = history.prepare(transcript, 90_000)
    second, _ = history.prepare([*transcript, *round_(15)], 90_000, frontier)
    assert first == transcript
    assert json.dumps(history.to_wire(second)).startswith(json.dumps(history.to_wire(first))[:-1])


def test_nb_ctx_04_and_nb_ctx_05_overflow_compacts_the_oldest_first_and_stays_so():
    transcript = one_run(18)
    budget = int(tokens.of_messages(transcript) * 0.8)
    out, frontier = history.prepare(transcript, budget)
    done = compacted(out)
    assert done == list(range(len(done)))
    assert 0 < len(done) < 18
    assert tokens.of_messages(out) <= budget * 0.85
    assert results(out)[len(done) :] == results(transcript)[len(done) :]
    again, same = history.prepare(transcript, budget, json.loads(json.dumps(frontier)))
    assert again == out
    assert same == frontier


def test_what_was_compacted_stays_compacted_when_there_is_room_again():
    transcript = one_run(18)
    out, frontier = history.prepare(transcript, int(tokens.of_messages(transcript) * 0.8))
    assert history.prepare(transcript, 90_000, frontier)[0] == out


def test_nb_ctx_06_small_results_are_left_alone():
    transcript = [m for n in range(40) for m in turn(n, size=480)]
    out, frontier = history.prepare(transcript, tokens.of_messages(transcript) // 2)
    assert compacted(out) == []
    assert frontier["first"] is not None


def test_results_of_tools_that_write_are_not_compacted_but_only_cut_when_nothing_else_helps():
    transcript = one_run(10, read_only=False, size=3_000)
    out, frontier = history.prepare(transcript, tokens.of_messages(transcript) // 2)
    assert frontier["compacted"] == []
    assert frontier["cut"]
    assert all("word" in text for text in results(out))


def test_nb_ctx_07_the_newest_result_goes_last_and_says_what_to_do():
    transcript = one_run(3, size=6_000)
    out, _ = history.prepare(transcript, 600)
    assert compacted(out) == [0, 1]
    assert "narrower range" in results(out)[2]
    assert tokens.of_messages(out) <= 600


def test_nb_ctx_08_trimming_keeps_the_system_message_and_a_user_start():
    transcript = [Message("system", "rules", key="s"), *(m for n in range(50) for m in turn(n, size=300))]
    out, frontier = history.prepare(transcript, 1_000)
    assert [m.role for m in out[:2]] == ["system", "user"]
    assert out[1].key == frontier["first"]
    assert out[-1] == transcript[-1]
    assert tokens.of_messages(out) <= 1_000


def test_snipping_leaves_room_so_that_it_does_not_happen_at_every_turn():
    transcript = [m for n in range(50) for m in turn(n, size=300)]
    first, frontier = history.prepare(transcript, 2_000)
    second, later = history.prepare([*transcript, *turn(50, size=300)], 2_000, frontier)
    assert later["first"] == frontier["first"]
    assert second[: len(first)] == first


def test_a_frontier_of_another_branch_or_of_rubbish_does_no_harm():
    transcript = one_run(3)
    for odd in ({"first": "gone", "compacted": ["x"], "cut": {"y": 1}, "dropped": ["z"]}, {"first": 3, "cut": []}, {}):
        assert history.prepare(transcript, 90_000, odd)[0] == transcript


def test_nb_ctx_09_tool_schemas_count(bench):
    schema = {
        "type": "object",
        "properties": {f"field{n}": {"type": "string", "description": "x " * 50} for n in range(40)},
    }
    bench.tool("big", parameters=schema)
    old = [m for n in range(30) for m in turn(n, size=400, name="big")]
    transcript = (*old, Message("user", "now", key="now"))
    budget = tokens.of_messages(transcript) + 500
    bench.run(says("without"), transcript=transcript, token_budget=budget, tools=())
    assert len(bench.sent()) == len(transcript)
    bench.run(says("with"), transcript=transcript, token_budget=budget)
    request = bench.model.requests[-1]
    assert len(bench.sent()) < len(transcript)
    assert tokens.count(json.dumps([request.messages, request.tools])) < budget * 1.2
    assert "context_trimmed" in bench.notices()


def test_nb_ctx_10_when_no_legal_request_can_be_built_none_is_sent(bench):
    class Odd(str):
        def strip(self, *args):
            raise RuntimeError("broken")

    broken = Message("assistant", None, (call("t", id="a"),))
    outcome = bench.run(
        transcript=(Message("user", "q"), broken, Message("tool", Odd("x"), tool_call_id="a", name="t"))
    )
    assert (outcome.status, outcome.error["code"]) == ("failed", "internal_error")
    assert bench.model.requests == []
    assert bench.types()[-1] == "run.finished"


@pytest.mark.parametrize(
    ("messages", "rule"),
    [
        ([{"role": "assistant", "content": "x"}], "first message"),
        ([{"role": "user", "content": "x"}, {"role": "assistant", "content": "x"}], "last message"),
        ([{"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": "a", "content": "x"}], "no open call"),
        (
            [{"role": "user", "content": "x"}, {"role": "system", "content": "x"}, {"role": "user", "content": "y"}],
            "system",
        ),
        ([{"role": "user", "content": ""}], "empty"),
    ],
)
def test_an_illegal_request_is_named_by_its_rule(messages, rule):
    with pytest.raises(history.IllegalRequest, match=rule):
        history.check_legal(messages)


@pytest.mark.parametrize(
    "calls", [[("a", "t", "{}"), ("a", "t", "{}")], [("", "t", "{}")], [("a", "", "{}")], [("a", "t", "[")]]
)
def test_an_illegal_call_is_found(calls):
    wire = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
    results_ = [{"role": "tool", "tool_call_id": i, "content": "x"} for i, _, _ in calls]
    with pytest.raises(history.IllegalRequest):
        history.check_legal(
            [{"role": "user", "content": "q"}, {"role": "assistant", "content": None, "tool_calls": wire}, *results_]
        )


@pytest.mark.parametrize("value", ["", None, " \n", []])
def test_nb_ctx_11_empty_tool_output_becomes_a_marker_that_names_the_tool(value):
    transcript = [Message("user", "q"), Message("assistant", None, (call("read", id="a"),))]
    out = history.prepare([*transcript, Message("tool", value, tool_call_id="a", name="read")], 1_000)[0]
    assert results(out) == ["(read returned nothing)"]


def test_a_request_that_is_too_long_is_made_smaller_once_and_again(bench):
    transcript = (*(m for n in range(40) for m in turn(n, size=400)), Message("user", "now", key="now"))
    too_long = ContextTooLong("Too long.")
    assert bench.run(too_long, too_long, says("done"), transcript=transcript).output == "done"
    sizes = [len(r.messages) for r in bench.model.requests]
    assert sizes[0] > sizes[1] > sizes[2]
    assert "context_trimmed" in bench.notices()
    assert bench.shown(step=0) == "done"


def test_a_request_that_stays_too_long_ends_with_its_cause(bench):
    transcript = (*(m for n in range(40) for m in turn(n, size=400)), Message("user", "now", key="now"))
    outcome = bench.run(forever=ContextTooLong("The request is longer than the model's window."), transcript=transcript)
    assert (outcome.stop_reason, outcome.error["code"]) == ("error", "context_too_long")
    assert len(bench.model.requests) == 3


def test_a_request_that_cannot_be_made_smaller_is_not_sent_again(bench):
    assert bench.run(forever=ContextTooLong("Too long.")).error["code"] == "context_too_long"
    assert len(bench.model.requests) == 1


def test_each_request_of_a_run_begins_with_the_one_before(bench):
    bench.tool("read", lambda _: "word " * 300, read_only=True, cacheable=False)
    bench.run(*(asks(call("read", {"n": n}), text=f"Step {n}.") for n in range(8)), says("done"))
    for before, after in itertools.pairwise(bench.model.requests):
        assert after.messages[: len(before.messages)] == before.messages
        assert after.tools == before.tools


def test_the_frontier_is_kept_for_the_conversation(bench):
    transcript = (*(m for n in range(40) for m in turn(n, size=400)), Message("user", "now", key="now"))
    bench.run(says("done"), transcript=transcript, token_budget=1_500)
    first = bench.store.get_task_state("frontier")["first"]
    bench.run(says("done"), transcript=transcript, token_budget=90_000)
    assert bench.store.get_task_state("frontier")["first"] == first
    assert len(bench.model.requests[0].messages) < 30


def test_the_transcript_is_never_changed_by_a_run(bench):
    transcript = tuple(m for n in range(40) for m in turn(n, size=400))
    before = copy.deepcopy(transcript)
    bench.run(says("done"), transcript=transcript, token_budget=800)
    assert transcript == before


def test_early_steps_of_one_long_turn_are_left_out_when_cutting_is_not_enough():
    transcript = one_run(200, size=120)
    out, frontier = history.prepare(transcript, 2_000)
    assert tokens.of_messages(out) <= 2_000
    assert out[0].content == "do it"
    assert out[-1] == transcript[-1]
    assert frontier["dropped"]
    again, _ = history.prepare(transcript, 2_000, frontier)
    assert again == out


def test_the_engines_own_notes_never_push_the_question_out(bench):
    bench.tool("read", lambda _: "word " * 600, read_only=True, cacheable=False)
    rounds = [asks(call("read", {"n": n})) for n in range(6)]
    bench.run(*rounds, says("summary"), limits={"max_steps": 6}, token_budget=3_000)
    assert bench.sent()[0]["content"] == "What is it?"


# ---------------------------------------------------------------- counting
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("hello", 1),
        ("internationalization", 4),
        ("hello, world!", 4),
        ("1234567", 3),
        ("a1b2", 4),
        ("   \n\t ", 0),
        ("x" * 6_000, 1_000),
        ('{"a": [1, 22, 4444]}', 14),
    ],
)
def test_tokens_are_counted_by_pieces(text, expected):
    assert tokens.count(text) == expected


def test_cjk_characters_count_three_quarters():
    assert tokens.count("天" * 100) == 75
    assert tokens.count("한국어" * 10) in (22, 23)
    assert tokens.count("ab天cd") in (2, 3)


def test_other_scripts_and_signs_count_something():
    assert tokens.count("привет" * 10) == 30
    assert tokens.count("👍" * 5) == 5


def test_the_count_of_a_message_is_kept_on_it():
    message = Message("user", "hello world")
    assert tokens.of_message(message) == message.tokens == 6
    image = Message("user", [{"type": "image_url"}, {"type": "text", "text": "hello"}])
    assert tokens.of_message(image) > 1_000


def test_the_providers_own_count_corrects_ours(bench):
    budget = RequestBudget(1_000)
    budget.learn(500, 1_000)
    assert budget.room(100) == 400
    budget.learn(500, 100)
    assert budget.room(100) == 900
    budget.learn(500, 100_000)
    assert budget.room(0) == 500


def test_a_provider_that_counts_more_gets_less(bench):
    bench.tool("read", lambda _: "word " * 400, read_only=True, cacheable=False)
    rounds = [asks(call("read", {"n": n}), usage=Usage(6_000, 1)) for n in range(4)]
    bench.run(*rounds, says("done"), token_budget=3_000)
    last = bench.model.requests[-1]
    assert tokens.count(json.dumps(last.messages)) < 1_700
    assert problems(last) == []


def test_what_is_left_out_is_told_with_the_message_that_is_now_the_first(bench):
    transcript = (*(m for n in range(40) for m in turn(n, size=400)), Message("user", "now", key="now"))
    bench.run(says("done"), transcript=transcript, token_budget=3_000)
    told = [data for data in bench.events("run.notice") if data["code"] == "context_trimmed"]
    users = [m.key for m in transcript if m.role == "user"]
    assert [data["first"] in users[1:] for data in told] == [True]
    # A turn is a question and an answer, as a person counts, whatever the steps of the answer.
    assert told[0]["left_out"] == 2 * users.index(told[0]["first"])
