"""Batch evaluation: what a case may expect, what is wrong with a file, and what the report says."""

import pytest
from agent_kit import says

from backend.agent.evaluation import EvalRun, evaluate, load_cases
from backend.agent.types import RunOutcome, Usage
from backend.errors import InvalidInput


def outcome(output="Four.", status="completed", steps=1, **fields):
    return RunOutcome("run", status, status, output, usage=Usage(10, 5, 200), step_count=steps, **fields)


def judged(line, done, tools=()):
    [result] = evaluate(load_cases([line]), lambda case: EvalRun(done, frozenset(tools))).results
    return result.failures


@pytest.mark.parametrize(
    "line",
    [
        '{"input": "q"}',
        '{"input": "q", "contains": ["Four", "."], "excludes": "Five", "matches": "^F.*r", "max_steps": 1}',
        '{"input": "q", "tools": "calculator"}',
    ],
)
def test_a_case_that_holds_passes(line):
    assert judged(line, outcome(), ["calculator"]) == ()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"input": "q", "contains": "Five"}', "'Five' is missing"),
        ('{"input": "q", "excludes": "Four"}', "'Four' is there"),
        ('{"input": "q", "matches": "^r"}', "nothing matches"),
        ('{"input": "q", "tools": ["calculator"]}', "calculator was not used"),
        ('{"input": "q", "max_steps": 0}', "took 1 steps"),
        ('{"input": "q", "status": "max_steps"}', "ended as completed"),
    ],
)
def test_a_case_that_does_not_hold_says_why(line, why):
    [failure] = judged(line, outcome())
    assert why in failure


def test_a_failed_run_fails_its_case_with_the_cause():
    done = outcome("", "failed", error={"code": "model_auth", "message": "The key is refused."})
    assert "The key is refused." in judged('{"input": "q"}', done)[0]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["{"], "Line 1 is not JSON"),
        (["", "# note", "[1]"], "Line 3 must be an object"),
        (['{"input": "q", "inputs": 1}'], "unknown fields: inputs"),
        (['{"input": "q", "matches": "("}'], "no regular expression"),
        (['{"input": "q", "contains": [1]}'], "must be a text"),
        (['{"id": "a", "input": "q"}', '{"id": "a", "input": "q"}'], "same id"),
    ],
)
def test_a_bad_file_is_refused_with_the_line(lines, why):
    with pytest.raises(InvalidInput, match=why):
        load_cases(lines)


def test_the_report_sums_up(bench):
    told = []
    cases = load_cases(['{"input": "one", "contains": "done"}', "", '{"input": "two", "contains": "never"}'])
    report = evaluate(cases, lambda case: EvalRun(bench.run(says("done", usage=Usage(10, 5, 200)))), told.append)
    whole = report.to_json()
    assert (whole["passed"], whole["total"], whole["pass_rate"], whole["steps"]) == (1, 2, 0.5, 2)
    assert (whole["usage"]["total_tokens"], whole["usage"]["cost_micros"]) == (30, 400)
    assert [r["id"] for r in whole["results"]] == ["1", "3"]
    assert [r.case.id for r in told] == ["1", "3"]
    text = report.to_text()
    assert "FAIL  3" in text
    assert text.endswith(f"{whole['seconds']:.1f} s")
    assert "1 of 2 passed" in text


def test_no_cases_have_no_rate():
    assert evaluate([], lambda case: None).to_json()["pass_rate"] is None
