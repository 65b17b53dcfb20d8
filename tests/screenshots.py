"""Makes the pictures under docs/screenshots/: each page in both themes and languages, from a real server with a scripted model.

.venv/bin/python tests/screenshots.py [NAME …]
"""

import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright
from support.model_server import Call, ModelServer, Turn
from support.server import ROOT, Server

FOLDER = ROOT / "docs" / "screenshots"
SIZE = {"width": 1440, "height": 900}
FLAGS = ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-gpu"]
LOOKS = [(theme, language) for language in ("en", "zh-CN") for theme in ("light", "dark")]
CODE = """import csv

units = {}
for row in csv.DictReader(open("sales.csv")):
    units[row["city"]] = units.get(row["city"], 0) + int(row["units"])
for city, total in sorted(units.items(), key=lambda item: -item[1]):
    print(f"{city:10} {total:>7,}")
"""
REPORT = """# Sales by city

| City | Units |
|---|---:|
| Lisbon | 21,949 |
| Oslo | 20,568 |
| 上海 | 19,814 |
| Quito | 19,762 |

Lisbon leads Oslo by 6.7%.
"""
ANSWER = """I have written **report.md**. In short:

- **Lisbon** sold most, with 21,949 units
- **Quito** sold least, with 19,762

```python
share = units["Lisbon"] / sum(units.values())
```
"""


def scripted(body: dict[str, Any]) -> Turn:
    """A report in four steps: look, compute, write, answer."""
    done = 0
    for message in reversed(body["messages"]):
        if message["role"] == "user":
            break
        done += message["role"] == "assistant"
    turns = [
        Turn(
            reasoning=["The person wants a report. ", "I look at the data first."],
            text="I look at the first and the last rows.",
            tool_calls=[
                Call("file_read", {"path": "sales.csv", "limit": 5}),
                Call("file_read", {"path": "sales.csv", "offset": 3990, "limit": 5}),
            ],
        ),
        Turn(
            text="Now the sums.",
            tool_calls=[
                Call("execute_python", {"code": CODE, "files": ["sales.csv"]}),
                Call("calculator", {"expression": "21949 / 82093"}),
            ],
        ),
        Turn(tool_calls=[Call("file_write", {"path": "report.md", "content": REPORT})]),
        Turn(text=ANSWER),
    ]
    return turns[min(done, len(turns) - 1)]


def sales() -> bytes:
    """A few thousand rows."""
    rng = random.Random(7)
    rows = ["day,city,units,price"]
    for i in range(4000):
        city = rng.choice(["Lisbon", "Oslo", "上海", "Quito"])
        rows.append(
            f"2026-{i % 12 + 1:02d}-{i % 28 + 1:02d},{city},{rng.randint(1, 40)},{rng.randint(100, 9900) / 100}"
        )
    return "\n".join(rows).encode()


@contextmanager
def prepared() -> Iterator[tuple[Server, dict[str, str]]]:
    """A server with a project in which the agent has done its work, and the addresses of its pages."""
    with tempfile.TemporaryDirectory() as folder, ModelServer() as model:
        model.script("*", [scripted] * 100)
        settings = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "sk-demo", "OPENAI_MODEL": "demo-model"}
        with Server(Path(folder) / "instance", **settings) as server:
            project = server.post("/api/projects", {"name": "Sales 2026", "description": "Numbers of the year"})["id"]
            server.post_file(f"/api/projects/{project}/files/upload", "sales.csv", sales())
            conversation = server.post("/api/conversations", {"project_id": project})["id"]
            sent = server.post(
                f"/api/conversations/{conversation}/messages", {"content": "Write a short sales report."}
            )
            run = server.wait_run(sent["run"]["id"])["id"]
            _others(server, project)
            yield (
                server,
                {
                    "home": "/",
                    "conversation": f"/p/{project}/c/{conversation}",
                    "projects": "/projects",
                    "project": f"/p/{project}",
                    "files": f"/p/{project}/files?file=report.md",
                    "runs": f"/p/{project}/runs",
                    "trace": f"/p/{project}/runs/{run}",
                    "tools": "/tools",
                    "usage": "/usage",
                    "settings": "/settings",
                    "search": "/search?q=report",
                    "conversations": "/conversations",
                    "bin": "/bin",
                },
            )


def _others(server: Server, project: str) -> None:
    """More conversations, tagged and pinned, and some things in the bin."""
    named = (
        ("Prices of 2025", ["prices"]),
        ("Letter to Quito", []),
        ("上海的季度报告", ["report"]),
        ("An old draft", []),
    )
    made = [
        server.post("/api/conversations", {"title": title, "tags": tags, "project_id": project})
        for title, tags in named
    ]
    server.session.patch(f"{server.url}/api/conversations/{made[0]['id']}", json={"pinned": True}).raise_for_status()
    server.post_file(f"/api/projects/{project}/files/upload", "old.csv", b"day,units\n2025-01-01,3\n")
    for address in (f"conversations/{made[-1]['id']}", f"projects/{project}/files/content?path=old.csv"):
        server.session.delete(f"{server.url}/api/{address}").raise_for_status()


def main(names: list[str]) -> None:
    """Make the pictures of the named pages, or of all."""
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    with prepared() as (server, pages), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        for theme, language in LOOKS:
            page = browser.new_context(viewport=SIZE, locale=language, color_scheme=theme).new_page()
            if not names or "login" in names:
                picture(page, server, "/login", f"login-{theme}-{language}.png")
            sign_in(page, server)
            for name, address in pages.items():
                if not names or name in names:
                    picture(page, server, address, f"{name}-{theme}-{language}.png")
            page.context.close()
        browser.close()


def sign_in(page: Page, server: Server) -> None:
    """As a person does, by the printed link."""
    page.goto(server.login_link())
    page.get_by_role("main").wait_for()


def picture(page: Page, server: Server, address: str, name: str) -> None:
    """One picture, once the page is quiet."""
    page.goto(server.url + address)
    page.get_by_role("main").wait_for()
    page.wait_for_timeout(1200)
    page.screenshot(path=FOLDER / name)


if __name__ == "__main__":
    main(sys.argv[1:])
