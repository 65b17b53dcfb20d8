"""The limits of a run and the check before every step."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GuardrailConfig:
    """Limits of one run; the defaults and ceilings are those of the contract."""

    max_steps: int = 20
    step_timeout_seconds: float = 60.0
    run_timeout_seconds: float = 300.0
    max_retries_per_tool: int = 2
    max_consecutive_errors: int = 3
