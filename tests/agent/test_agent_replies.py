"""From the model's reply to calls, answers and reasons (NB-PAR as far as the engine, NB-FIN, NB-STR)."""

import json

import pytest
from agent_kit import asks, call, says

from backend.agent.types import Delta, ModelReply, Usage
from backend.errors import ContentFiltered, ModelAuthError, ModelError, ModelQuotaExceeded, ModelRateLimited


# ---------------------------------------------------------------- PAR
def test_nb_par_02_calls_under_stop_are_executed(bench):
    bench.tool("t")
    bench.run(asks(call("t"), finish_reason="stop"), says("done"))
    assert [name for name, _ in bench.executed] == ["t"]


@pytest.mark.parametrize("finish", ["refusal", "content_filter", "error"])
def test_nb_par_03_calls_under_a_blocking_reason_are_not_executed(bench, finish):
    bench.tool("t")
    outcome = bench.run(asks(call("t"), text="I cannot.", finish_reason=finish))
    assert bench.executed == []
    assert bench.store.calls == {}
    assert outcome.status == "failed"
    assert outcome.stop_reason == ("error" if finish == "error" else "content_filter")
    assert outcome.output == "I cannot."
    assert bench.answers()[0].content == "I cannot."
    assert bench.answers()[0].tool_calls == []


def test_nb_par_04_two_calls_with_one_id_are_told_apart(bench):
    bench.tool("t")
    bench.run(asks(call("t", {"n": 1}, id="dup"), call("t", {"n": 2}, id="dup")), says("done"))
    calls = [r.call for r in bench.store.calls.values()]
    assert [c["id"] for c in calls] == ["dup", "dup_2"]
    assert {c["provider_id"] for c in calls} == {"dup"}
    assert sorted(a["n"] for _, a in bench.executed) == [1, 2]


def test_nb_par_05_a_call_without_an_id_gets_one_for_call_and_result(bench):
    bench.tool("t")
    bench.run(asks(call("t", id="")), says("done"))
    assistant, result = bench.sent()[1:3]
    assert assistant["tool_calls"][0]["id"] == result["tool_call_id"] != ""


def test_ids_that_come_again_in_a_later_step_are_suffixed(bench):
    bench.tool("t")
    bench.run(asks(call("t", {"n": 1})), asks(call("t", {"n": 2})), says("done"))
    assert [r.call["id"] for r in bench.store.calls.values()] == ["call_1", "call_1_2"]


def test_nb_par_06_an_error_reply_is_an_error_and_no_blank_answer(bench):
    outcome = bench.run(ModelError("The server sent no choices."))
    assert (outcome.status, outcome.stop_reason) == ("failed", "error")
    assert len(bench.model.requests) == 1


def test_nb_par_08_only_nameless_calls_get_a_correction_that_is_not_stored(bench):
    bench.tool("t")
    outcome = bench.run(asks(call("", id="a"), call("  ", id="b")), says("done"))
    assert outcome.output == "done"
    assert "without naming" in bench.sent()[-1]["content"]
    assert bench.store.calls == {}
    assert [m.content for m in bench.store.messages.values()] == ["done"]


def test_a_nameless_call_beside_a_good_one_is_left_out_and_said(bench):
    bench.tool("t")
    bench.run(asks(call("", id="a"), call("t", id="b")), says("done"))
    assert [r.call["id"] for r in bench.store.calls.values()] == ["b"]
    assert "malformed_call" in bench.notices()


def test_half_a_call_is_answered_and_never_run(bench):
    bench.tool("t")
    bench.run(asks(call("t", '{"n": 1', error="it ends inside the object")), says("done"))
    [record] = bench.store.calls.values()
    assert bench.executed == []
    assert record.call["status"] == "error"
    assert json.loads(record.call["result"])["code"] == "invalid_arguments"
    assert json.loads(record.call["function"]["arguments"]) == '{"n": 1'
    assert "ends inside" in bench.sent(role="tool")[0]["content"]


# ---------------------------------------------------------------- FIN
def test_nb_fin_01_blank_answers_are_asked_again_the_last_time_without_tools(bench):
    bench.tool("t")
    outcome = bench.run(says(""), says(" \n"), says("\u200b"), says("final"))
    assert outcome.output == "final"
    requests = bench.model.requests
    assert [bool(r.tools) for r in requests] == [True, True, True, False]
    assert requests[3].kind == "final"
    assert "answer" in requests[3].messages[-1]["content"]
    assert [m.content for m in bench.store.messages.values()] == ["final"]
    assert bench.shown(step=0) == "final"
    assert bench.store.steps["run", 0].model_calls == 4


def test_nb_fin_02_blank_for_ever_ends_with_its_own_reason(bench):
    outcome = bench.run(forever=says(""))
    assert (outcome.status, outcome.stop_reason) == ("failed", "empty_answer")
    assert "no answer" in outcome.error["message"]
    assert len(bench.model.requests) == 4


def test_reasoning_alone_is_no_answer(bench):
    outcome = bench.run(forever=ModelReply("", reasoning="I wonder"))
    assert outcome.stop_reason == "empty_answer"


def test_nb_fin_03_the_count_of_blanks_begins_anew_after_tools(bench):
    bench.tool("t")
    blanks = [says(""), says("")]
    outcome = bench.run(asks(call("t", {"n": 1})), *blanks, asks(call("t", {"n": 2})), *blanks, says("done"))
    assert outcome.output == "done"


def test_nb_fin_04_a_cut_answer_is_continued_and_joined(bench):
    outcome = bench.run(says("first ", "length"), says("second ", "length"), says("third"))
    assert outcome.output == "first second third"
    assert bench.shown(step=0) == "first second third"
    assert [r.kind for r in bench.model.requests] == ["normal", "continuation", "continuation"]
    assert bench.sent(1)[1]["content"] == "first "
    assert len(bench.store.steps) == 1
    assert bench.answers()[0].blocks == [{"type": "text", "text": "first second third"}]


def test_nb_fin_05_a_cut_answer_then_a_tool(bench):
    bench.tool("t")
    outcome = bench.run(says("working", "length"), asks(call("t")), says("final answer"))
    assert outcome.output == "final answer"
    assert bench.answers()[0].content == "final answer"


def test_calls_of_a_cut_answer_are_never_executed(bench):
    bench.tool("t")
    outcome = bench.run(asks(call("t"), finish_reason="length"), says("briefer"))
    assert outcome.output == "briefer"
    assert bench.executed == []
    assert "cut off" in bench.sent()[-1]["content"]


def test_an_answer_cut_again_and_again_stands_after_three_continuations(bench):
    outcome = bench.run(forever=says("more ", "length"))
    assert (outcome.status, outcome.output) == ("completed", "more more more more ")
    assert len(bench.model.requests) == 4
    assert "answer_cut" in bench.notices()


def test_calls_that_are_always_cut_end_as_an_empty_answer(bench):
    bench.tool("t")
    outcome = bench.run(forever=asks(call("t"), finish_reason="length"))
    assert outcome.stop_reason == "empty_answer"
    assert "cut off" in outcome.error["message"]
    assert bench.executed == []


def test_nb_fin_06_the_step_limit_ends_with_a_summary(bench):
    bench.tool("t")
    outcome = bench.run(asks(call("t", {"n": 1})), asks(call("t", {"n": 2})), says("summary"), limits={"max_steps": 2})
    assert (outcome.status, outcome.stop_reason, outcome.output) == ("max_steps", "max_steps", "summary")
    assert len(bench.executed) == 2
    assert [bool(r.tools) for r in bench.model.requests] == [True, True, False]
    assert "limit" in bench.sent()[-1]["content"]
    assert bench.answers()[0].content == "summary"
    assert len(bench.model.requests) == 3


@pytest.mark.parametrize("last", [ModelError("down"), says(""), asks(call("t", {"n": 9}))])
def test_nb_fin_07_a_failed_summary_is_replaced_by_words_that_name_the_limit(bench, last):
    bench.tool("t")
    outcome = bench.run(asks(call("t", {"n": 1})), asks(call("t", {"n": 2})), last, limits={"max_steps": 2})
    assert outcome.status == "max_steps"
    assert "2 steps" in outcome.output
    assert bench.shown(step=2) == outcome.output
    assert len(bench.executed) == 2


def test_the_words_that_name_the_limit_are_chinese_for_a_chinese_question(bench):
    bench.tool("t")
    outcome = bench.run(asks(call("t")), ModelError("down"), question="天气怎么样？", limits={"max_steps": 1})
    assert "1 步" in outcome.output


@pytest.mark.parametrize("finish", ["refusal", "content_filter"])
def test_nb_fin_08_a_blank_after_a_policy_stop_is_not_asked_again(bench, finish):
    outcome = bench.run(says("", finish))
    assert (outcome.status, outcome.stop_reason) == ("failed", "content_filter")
    assert outcome.error["message"]
    assert len(bench.model.requests) == 1


def test_a_filter_reported_by_the_provider_keeps_what_was_shown(bench):
    outcome = bench.run(ContentFiltered("Filtered.", partial_text="The first step is"))
    assert (outcome.stop_reason, outcome.output) == ("content_filter", "The first step is")


def test_nb_fin_09_a_model_error_is_shown_and_stays_out_of_history(bench):
    outcome = bench.run(ModelRateLimited("429: slow down"))
    assert (outcome.stop_reason, outcome.error["message"]) == ("error", "429: slow down")
    assert outcome.error["retryable"] is True
    [message] = bench.answers()
    assert (message.content, message.error["code"]) == ("", "model_rate_limited")
    assert bench.events("run.finished")[0]["error"]["code"] == "model_rate_limited"
    assert outcome.output == ""


def test_an_error_keeps_the_partial_text_that_was_shown(bench):
    def breaks(request, on_delta, cancelled):
        on_delta(Delta("text", "half an ans"))
        return ModelError("The connection broke.", partial_text="half an ans")

    outcome = bench.run(breaks)
    assert outcome.output == bench.shown(step=0) == bench.store.steps["run", 0].text == "half an ans"
    assert bench.answers()[0].content == "half an ans"
    assert bench.store.steps["run", 0].status == "failed"
    assert bench.types()[-3:] == ["step.finished", "message.completed", "run.finished"]


def test_nb_fin_10_out_of_money_is_said_clearly_and_not_asked_again(bench):
    problem = ModelQuotaExceeded("The provider's account has no credit left.", suggestion="Top it up or switch models.")
    outcome = bench.run(problem)
    assert outcome.error == {
        "code": "model_quota",
        "message": "The provider's account has no credit left.",
        "retryable": False,
        "suggestion": "Top it up or switch models.",
    }
    assert len(bench.model.requests) == 1


def test_nb_rty_03_an_error_that_is_final_is_not_asked_again(bench):
    assert bench.run(ModelAuthError("The key is refused.")).error["code"] == "model_auth"
    assert len(bench.model.requests) == 1


def test_a_fault_of_the_provider_ends_the_run_visibly(bench):
    outcome = bench.run(KeyError("choices"))
    assert (outcome.status, outcome.error["code"]) == ("failed", "internal_error")
    assert "choices" not in outcome.error["message"]
    assert bench.types()[-1] == "run.finished"


def test_usage_is_the_plain_sum_of_all_requests(bench):
    bench.tool("t")
    outcome = bench.run(
        says("", usage=Usage(10, 1)),
        asks(call("t"), usage=Usage(20, 2, 5)),
        says("done", usage=Usage(40, 4, 7)),
    )
    assert outcome.usage == Usage(70, 7, 12)
    assert bench.store.runs["run"].usage == Usage(70, 7, 12)
    assert bench.answers()[0].usage["total_tokens"] == 77
    assert sum((s.usage for s in bench.store.steps.values()), Usage()) == Usage(70, 7, 12)


# ---------------------------------------------------------------- STR
def test_nb_str_01_order_and_ends(bench):
    bench.tool("t")
    bench.run(asks(call("t"), text="Let me look."), says("There it is."))
    assert bench.types() == [
        "run.started",
        "step.started", "tool_call.started", "tool_call.finished", "step.finished",
        "step.started", "step.finished",
        "message.completed", "run.finished",
    ]  # fmt: skip
    assert bench.shown() == {0: "Let me look.", 1: "There it is."}
    kinds = [e.type for e in bench.channel.events]
    last_text_of_first_step = max(
        i for i, e in enumerate(bench.channel.events) if e.data.get("text") and e.data["step"] == 0
    )
    assert last_text_of_first_step < kinds.index("tool_call.started")
    assert [b["type"] for b in bench.answers()[0].blocks] == ["text", "tool_call", "text"]


def test_nb_str_02_thoughts_are_separate(bench):
    outcome = bench.run(ModelReply("Answer.", reasoning="Thinking."))
    assert outcome.output == bench.shown(step=0) == "Answer."
    assert bench.shown("reasoning", step=0) == "Thinking."
    assert bench.answers()[0].reasoning == "Thinking."
    assert bench.answers()[0].blocks[0] == {"type": "reasoning", "text": "Thinking."}


def test_nb_str_04_thoughts_that_were_streamed_are_shown_once(bench):
    bench.run(ModelReply("Answer.", reasoning="A thought that is streamed in pieces."))
    assert bench.shown("reasoning", step=0) == "A thought that is streamed in pieces."


def test_a_reply_that_was_not_streamed_is_shown_whole(bench):
    bench.run(lambda request, on_delta, cancelled: ModelReply("All at once.", reasoning="Quietly."))
    assert bench.shown(step=0) == "All at once."
    assert bench.shown("reasoning", step=0) == "Quietly."


def test_offsets_count_code_points(bench):
    bench.run(says("天気😀はいいですね, n'est-ce pas? 👍🏽"))
    assert bench.shown(step=0) == bench.store.steps["run", 0].text == "天気😀はいいですね, n'est-ce pas? 👍🏽"


def test_what_no_database_takes_is_replaced_in_text_and_stream_alike(bench):
    outcome = bench.run(says("a\x00b\ud83dc\ud83d\ude00"))
    assert outcome.output == bench.shown(step=0)
    assert outcome.output.startswith("a\ufffdb")
    outcome.output.encode("utf-8")


def test_notices_of_the_provider_are_passed_on(bench):
    def waits(request, on_delta, cancelled):
        on_delta(Delta("notice", "Waiting 2 s.", "retry_wait"))
        return says("done")

    bench.run(waits)
    assert bench.events("run.notice") == [{"run_id": "run", "code": "retry_wait", "detail": "Waiting 2 s."}]


def test_text_that_turns_out_to_be_reasoning_is_taken_back(bench):
    def closes_a_thought_it_never_opened(request, on_delta, cancelled):
        on_delta(Delta("text", "Let me "))
        on_delta(Delta("text", "think"))
        on_delta(Delta("notice", "What was shown was reasoning.", "text_was_reasoning"))
        on_delta(Delta("text", "The ans"))
        return ModelReply("The answer.", reasoning="Let me think")

    outcome = bench.run(says("First, ", "length"), closes_a_thought_it_never_opened)
    assert outcome.output == "First, The answer."
    assert bench.answers()[0].reasoning == "Let me think"
    assert "text_was_reasoning" in bench.notices()
    assert bench.shown(step=0) == "First, The answer."
    assert bench.shown("reasoning", step=0) == "Let me think"
