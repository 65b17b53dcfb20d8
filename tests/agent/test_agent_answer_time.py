"""How long a model thought is told with its answer, where that is long enough."""

from backend.agent.answer import Answer
from backend.agent.types import StepRecord


def test_a_long_thought_is_told_with_its_seconds_and_a_short_one_without():
    answer = Answer(None)
    answer.add_step(StepRecord("run", 0, reasoning="hm", text="Yes.", thought_seconds=4.26), [])
    answer.add_step(StepRecord("run", 1, reasoning="oh", thought_seconds=0.4), [])
    assert [block.get("seconds") for block in answer.blocks] == [4.3, None, None]
