"""The OpenAPI document holds: requests made from it at random get answers that it describes, and never a fault."""

import pytest
import schemathesis
from flask import Flask
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from routes_client import ADMIN_TOKEN, BASE
from schemathesis import GenerationMode, checks
from schemathesis.specs.openapi import checks as conformance

from backend.routes.state import web_state

# Its client does not close the files of the answers it gets, as a server would.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

EXAMPLES = 5
EXAMPLES_FULL = 150
STREAMS = r"/events$"
CHECKS = [
    checks.not_a_server_error,
    conformance.status_code_conformance,
    conformance.content_type_conformance,
    conformance.response_schema_conformance,
]


def check_operations(app: Flask, examples: int) -> int:
    """Send random requests to every operation; returns how many operations there were."""
    document = schemathesis.openapi.from_wsgi("/api/openapi.json", app, base_url=BASE)
    count = 0
    for result in document.exclude(path_regex=STREAMS).get_all_operations():
        operation = result.ok()
        modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
        cases = st.one_of([operation.as_strategy(generation_mode=mode) for mode in modes])

        @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(case=cases)
        def send(case: schemathesis.Case) -> None:
            with app.app_context():
                web_state().limiter.forget()
            case.call_and_validate(base_url=BASE, headers={"Authorization": f"Bearer {ADMIN_TOKEN}"}, checks=CHECKS)

        send()
        count += 1
    return count


@pytest.mark.timeout(300)  # on a busy machine
def test_every_operation_answers_as_documented(app: Flask) -> None:
    assert check_operations(app, EXAMPLES) > 55


@pytest.mark.full
@pytest.mark.timeout(1800)
def test_every_operation_answers_as_documented_at_length(app: Flask) -> None:
    assert check_operations(app, EXAMPLES_FULL) > 55
