"""Models on offer, their providers, and what was used."""

from flask import Blueprint, Response

from ..services import providers, stats
from .http import nothing, operation, reply, runtime, user_id
from .schemas import answers, requests

bp = Blueprint("models", __name__, url_prefix="/api")


@bp.get("/models")
@operation("Models on offer", returns={200: answers.page_of(answers.Model)})
def list_models() -> Response:
    """From every provider."""
    return reply(providers.list_models(runtime()))


@bp.get("/admin/providers")
@operation("Model providers", returns={200: answers.page_of(answers.Provider)}, admin=True)
def list_providers() -> Response:
    """Without their keys."""
    return reply(providers.list_providers(runtime()))


@bp.get("/admin/providers/found")
@operation("Model servers found on this machine", returns={200: answers.page_of(answers.FoundServer)}, admin=True)
def found_servers() -> Response:
    """Looked for on the usual ports; those that are set up already are left out."""
    return reply(providers.found_servers(runtime()))


@bp.post("/admin/providers")
@operation("Add a provider", body=requests.ProviderBody, returns={201: answers.Provider}, errors=(409,), admin=True)
def create_provider(body: requests.ProviderBody) -> Response:
    """Its key is stored encrypted."""
    return reply(providers.create_provider(runtime(), body.given()), 201)


@bp.patch("/admin/providers/<provider_id>")
@operation(
    "Change a provider", body=requests.ProviderPatch, returns={200: answers.Provider}, errors=(404, 409), admin=True
)
def update_provider(provider_id: str, body: requests.ProviderPatch) -> Response:
    """Only the fields that are named."""
    return reply(providers.update_provider(runtime(), provider_id, body.given()))


@bp.delete("/admin/providers/<provider_id>")
@operation("Forget a provider", returns={204: None}, errors=(404,), admin=True)
def delete_provider(provider_id: str) -> Response:
    """And its key."""
    providers.delete_provider(runtime(), provider_id)
    return nothing()


@bp.post("/admin/providers/<provider_id>/test")
@operation("Try a provider", returns={200: answers.ProviderTest}, errors=(404,), admin=True)
def test_provider(provider_id: str) -> Response:
    """One short question."""
    return reply(providers.try_provider(runtime(), provider_id))


@bp.get("/stats/tokens")
@operation("Tokens and cost over time", query=requests.StatsQuery, returns={200: answers.page_of(answers.TokenStats)})
def tokens(query: requests.StatsQuery) -> Response:
    """Of the caller's runs, by day, week or month."""
    return reply(stats.tokens(runtime(), user_id(), query.period))


@bp.get("/stats/runs")
@operation("How runs went", query=requests.StatsQuery, returns={200: answers.RunStats})
def runs(query: requests.StatsQuery) -> Response:
    """The caller's runs of the last 30 days, 12 weeks or 12 months: how many completed, how long they took, by model."""
    return reply(stats.runs(runtime(), user_id(), query.period))


@bp.get("/stats/queue")
@operation("The queue of runs", returns={200: answers.QueueStats})
def queue() -> Response:
    """How many wait and run now, on how many workers, and how long the first has waited."""
    return reply(stats.queue(runtime()))
