"""Reading Server-Sent Events in tests."""

import json
from collections.abc import Iterator
from typing import Any


def read_events(response: Any) -> Iterator[tuple[int, str, dict]]:
    """(id, event, data) of each event; comments are passed over."""
    seq, kind, data = 0, "", []
    for raw in response.iter_lines(chunk_size=None):
        line = raw.decode("utf-8")
        if not line:
            if data:
                yield seq, kind, json.loads("\n".join(data))
            kind, data = "", []
        elif line.startswith("id:"):
            seq = int(line[3:])
        elif line.startswith("event:"):
            kind = line[6:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
