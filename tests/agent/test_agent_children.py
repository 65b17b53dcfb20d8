"""Child runs (NB-SUB): side by side, within the parent's rights and time, stopped with it, honest about limits."""

import threading

import pytest
from agent_kit import ScriptedModel, asks, call, says

from backend.agent.children import ChildRequest, ChildRunner, ChildSlots, ChildTask, child_spec
from backend.agent.core import AgentCore
from backend.agent.guardrails import GuardrailConfig
from backend.agent.types import RunOutcome
from backend.cancel import CancelToken
from backend.channels.memory import MemoryChannel
from backend.errors import ModelAuthError
from backend.stores.memory import MemoryStore
from backend.tools.builtin.agent import multi_agent
from backend.tools.executor import ToolExecutor
from backend.tools.locator import register_service


class Children:
    """The service `runs`, over engines in memory: each child's model is chosen by its instruction."""

    def __init__(self, bench, scripts, slots=None):
        self.bench = bench
        self.models = {instruction: ScriptedModel(*replies) for instruction, replies in scripts.items()}
        self.stores = {}
        self.specs = []
        self.runner = ChildRunner(self.start, self.create, slots or ChildSlots())

    def run_children(self, request):
        return self.runner.run(request)

    def create(self, request, spec):
        self.stores[spec.run_id] = MemoryStore()
        self.specs.append(spec)

    def start(self, spec, cancelled):
        model = self.models[spec.transcript[0].content]
        core = AgentCore(model, ToolExecutor(self.bench.registry), self.stores[spec.run_id], MemoryChannel())
        return core.run(spec, cancelled)


@pytest.fixture
def parent(bench):
    bench.registry.register(multi_agent.definition)
    bench.tool("look", read_only=True)
    return bench


def run_parent(bench, tasks, scripts, *after, **options):
    service = Children(bench, scripts, options.pop("slots", None))
    register_service("runs", service)
    listed = [{"name": t, "instruction": t} if isinstance(t, str) else t for t in tasks]
    outcome = bench.run(asks(call("multi_agent", {"tasks": listed}, id="call_m")), *after, **options)
    return outcome, service


def data_of(bench):
    import json

    return json.loads(bench.store.calls["run", "call_m"].call["result"])


def test_nb_sub_03_and_nb_sub_06_results_come_back_once_in_the_order_of_the_tasks(parent):
    scripts = {"one": [says("first")], "two": [asks(call("look")), says("second")]}
    outcome, service = run_parent(parent, ["one", "two"], scripts, says("done"))
    data = data_of(parent)
    assert (data["success"], data["total"]) == (True, 2)
    assert [(r["task_name"], r["success"], r["response"]) for r in data["results"]] == [
        ("one", True, "first"),
        ("two", True, "second"),
    ]
    assert outcome.output == "done"
    assert len(service.stores) == 2
    started = {e["child_run_id"] for e in parent.events("child.started")}
    assert started == {e["child_run_id"] for e in parent.events("child.finished")} == set(service.stores)
    assert {e["call_id"] for e in parent.events("child.started")} == {"call_m"}


def test_a_child_that_failed_is_reported_with_its_reason_and_the_others_count(parent):
    scripts = {"good": [says("fine")], "bad": [ModelAuthError("The key is refused.")]}
    run_parent(parent, ["good", "bad"], scripts, says("done"))
    good, bad = data_of(parent)["results"]
    assert good["success"] is True
    assert (bad["success"], bad["error"]) == (False, "The key is refused.")
    assert "response" not in bad


def test_a_child_at_its_limit_is_no_success_even_if_it_summed_up(parent):
    rounds = [asks(call("look", {"n": n})) for n in range(3)]
    run_parent(parent, ["long"], {"long": [*rounds, says("so far")]}, says("done"))
    data = data_of(parent)
    [result] = data["results"]
    assert (data["success"], result["success"], result["status"]) == (False, False, "max_steps")
    assert "limit" in result["error"]
    assert result["partial_response"] == "so far"
    assert parent.store.calls["run", "call_m"].call["status"] == "error"


def test_nb_sub_04_children_have_no_children_and_never_more_rights_than_the_parent(parent):
    parent.tool("forbidden")
    task = {"name": "t", "instruction": "t", "tools": ["look", "forbidden", "multi_agent"]}
    _, service = run_parent(parent, [task], {"t": [says("ok")]}, says("done"), tools=("look", "multi_agent"))
    assert service.specs[0].tools == ("look",)
    assert [t["function"]["name"] for t in service.models["t"].requests[0].tools] == ["look"]


def test_children_inherit_policy_project_time_and_get_three_rounds_of_4096_tokens(parent):
    _, service = run_parent(
        parent,
        ["t"],
        {"t": [says("ok")]},
        says("done"),
        policy={"look": "allow"},
        project_id="p",
        user_id="u",
        limits={"run_timeout_seconds": 100, "max_steps": 9},
        token_budget=7_000,
    )
    spec = service.specs[0]
    assert (spec.policy, spec.project_id, spec.user_id, spec.kind) == ({"look": "allow"}, "p", "u", "child")
    assert (spec.limits.max_steps, spec.max_tokens) == (3, 4096)
    assert spec.token_budget == 7_000
    assert 90 < spec.limits.run_timeout_seconds <= 100
    assert service.models["t"].requests[0].kind == "child"
    assert service.models["t"].requests[0].max_tokens == 4096


def test_a_parent_with_fewer_steps_gives_no_more_to_its_children():
    request = ChildRequest((ChildTask("a", "a"),), limits=GuardrailConfig(max_steps=2))
    spec = child_spec(request, request.tasks[0])
    assert spec.limits.max_steps == 2
    assert spec.token_budget == 96_000


def test_nb_sub_02_over_the_limit_children_wait_in_line():
    running, most, lock = 0, 0, threading.Lock()
    both = threading.Barrier(2, timeout=10)

    def start(spec, cancelled):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        both.wait()  # passes only if two run at once
        with lock:
            running -= 1
        return RunOutcome(spec.run_id, "completed", "completed", "ok")

    runner = ChildRunner(start, slots=ChildSlots(2))
    results = runner.run(ChildRequest(tuple(ChildTask(str(n), "x") for n in range(4))))
    assert [r["success"] for r in results] == [True] * 4
    assert most == 2


def test_nb_sub_05_stopping_the_parent_stops_running_and_waiting_children(parent):
    begun = threading.Event()

    def hangs(request, on_delta, cancelled):
        from backend.errors import ModelCancelled

        begun.set()
        assert cancelled.wait(10)
        return ModelCancelled("stopped")

    stopper = threading.Thread(target=lambda: begun.wait(10) and parent.cancelled.set())
    stopper.start()
    outcome, service = run_parent(parent, ["a", "b"], {"a": [hangs], "b": [hangs]}, slots=ChildSlots(1))
    stopper.join()
    assert outcome.status == "cancelled"
    assert parent.store.calls["run", "call_m"].call["success"] is False
    assert len(service.stores) == 1  # the other never left the line
    assert [s.runs[run_id].status for run_id, s in service.stores.items()] == ["cancelled"]


def test_a_slot_is_given_back_when_starting_a_child_breaks():
    slots = ChildSlots(1)

    def breaks(spec, cancelled):
        raise RuntimeError("broken")

    request = ChildRequest((ChildTask("a", "a"),))
    with pytest.raises(RuntimeError):
        ChildRunner(breaks, slots=slots).run(request)
    assert slots.enter(CancelToken())


@pytest.mark.parametrize("count", [0, 6])
def test_the_number_of_tasks_is_bounded(count):
    with pytest.raises(ValueError, match="1 to 5"):
        ChildRunner(lambda spec, cancelled: None).run(ChildRequest(tuple(ChildTask(str(n), "x") for n in range(count))))


@pytest.mark.parametrize(
    "tasks",
    [
        [],
        [{"name": "a"}],
        [{"name": "a", "instruction": ""}],
        [{"name": "a", "instruction": "x"}] * 2,
        [{"name": str(n), "instruction": "x"} for n in range(6)],
    ],
)
def test_bad_tasks_are_refused_with_a_clear_answer(parent, tasks):
    run_parent(parent, tasks, {}, says("done"))
    data = data_of(parent)
    assert data["success"] is False
    assert data["code"] == "invalid_arguments"


def test_nb_sub_01_the_parent_waits_children_never_outlive_its_call(parent):
    # Ours run inside the call: no child goes on in the background after the run.
    _, service = run_parent(parent, ["t"], {"t": [says("ok")]}, says("done"))
    assert [s.runs[run_id].status for run_id, s in service.stores.items()] == ["completed"]
    assert not any(t.name.startswith("child") for t in threading.enumerate())
