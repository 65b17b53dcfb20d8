"""What the viewers of bench/durability.py are compared with: a Flask app that does nothing but stream."""

import json
import time
from collections.abc import Iterator

from flask import Flask, Response

app = Flask("bare")


@app.get("/stream/<name>")
def stream(name: str) -> Response:
    """50 events a second."""

    def events() -> Iterator[str]:
        number = 0
        while True:
            number += 1
            data = json.dumps({"run_id": name, "step": 0, "offset": number, "text": f"@{time.time():.4f}; words "})
            yield f"id: {number}\nevent: text.delta\ndata: {data}\n\n"
            time.sleep(0.02)

    return Response(events(), mimetype="text/event-stream")


@app.get("/ping")
def ping() -> dict[str, str]:
    """A plain request."""
    return {"status": "ok"}
