"""Known ways out of Python sandboxes: none may do harm, with the policy and behind the kernel walls alone."""

import os

import pytest
from attack_cases import ENVIRONMENT_SECRET, LIMIT_SECONDS, Attack, aimed, attacks

from backend import sandbox

PROBE = "import sys\nprint('alive', 'left_behind' in dir(sys))\nleft_behind = 1"


def _ids(attack: Attack) -> str:
    return attack.name


def _assert_holds(attack: Attack, policy: bool) -> None:
    with aimed(attack, os.getpid()) as (code, harm):
        seconds = LIMIT_SECONDS if attack.harm in ("time", "memory", "size") else 5.0
        answer = sandbox.run(sandbox.SandboxRequest(code, policy=policy, seconds=seconds))
        assert harm(answer) is None, answer
    after = sandbox.run_code(PROBE)
    assert (after["stdout"], after["error"]) == ("alive False\n", None)


@pytest.fixture(autouse=True)
def _secret_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NANOCLAW_CANARY", ENVIRONMENT_SECRET)


@pytest.mark.parametrize("attack", attacks(), ids=_ids)
def test_does_no_harm_with_the_policy(attack: Attack) -> None:
    _assert_holds(attack, policy=True)


@pytest.mark.parametrize("attack", [a for a in attacks() if a.harm != "marker"], ids=_ids)
def test_does_no_harm_behind_the_kernel_walls_alone(attack: Attack) -> None:
    _assert_holds(attack, policy=False)
