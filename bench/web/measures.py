"""One function a goal: each gives the figures of one try."""

import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.server import ROOT, Server

from .pace import LAST, Pace, document
from .world import Place

PROBE = (Path(__file__).parent / "probe.js").read_text(encoding="utf-8")
SIZE = {"width": 1280, "height": 900}
FRAME_MS = 1000 / 60
TYPE_EVERY_MS = 150
Figures = dict[str, float]


@dataclass
class Bench:
    """Everything a measurement needs."""

    browser: Any
    server: Server
    pace: Pace
    session: Any
    places: dict[int, Place]
    trace: str

    def page(self, rate: int = 1, path: str | None = None) -> Any:
        """A page in a fresh context, its CPU slowed `rate` times."""
        context = self.browser.new_context(viewport=SIZE, locale="en-GB", storage_state=self.session)
        page = context.new_page()
        page.add_init_script(PROBE)
        page.cdp = context.new_cdp_session(page)
        if rate > 1:
            page.cdp.send("Emulation.setCPUThrottlingRate", {"rate": rate})
        if path is not None:
            page.goto(self.server.url + path, wait_until="commit")
        return page


def percentile(values: list[float], share: float) -> float:
    """The value that `share` of all do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


def frames(seen: dict[str, Any]) -> Figures:
    """Dropped share, 95th percentile of the gap, and blocked time, from what the probe saw."""
    gaps = [b - a for a, b in zip(seen["frames"], seen["frames"][1:], strict=False)]
    due = max(1.0, sum(gaps) / FRAME_MS)
    dropped = sum(max(0, round(gap / FRAME_MS) - 1) for gap in gaps)
    blocked = sum(max(0.0, task - 50) for task in seen["long"])
    return {"dropped %": 100 * dropped / due, "frame p95 ms": percentile(gaps, 0.95), "TBT ms": blocked}


def stream(bench: Bench, prompt: str, rate: int = 1) -> Figures:
    """5,000 tokens while someone types."""
    page = bench.page(rate, "/c/new")
    field = page.get_by_role("textbox", name="Message")
    field.fill(prompt)
    field.press("Enter")
    page.locator("[role=log] [aria-busy=true] .markdown").wait_for()
    page.evaluate(f"watchFor('{LAST}'); probe.start()")
    # By the keyboard and not by a locator: looking roles up in the page would be measured too.
    while page.evaluate("Boolean(document.querySelector('[role=log] [aria-busy=true]'))"):
        page.keyboard.press("a")
        page.wait_for_timeout(TYPE_EVERY_MS)
    seen = page.evaluate("probe.stop()")
    page.context.close()
    late = seen["lastShown"] - bench.pace.last_sent * 1000
    return {**frames(seen), "key p95 ms": percentile(seen["keys"], 0.95), "last token ms": late}


def conversation(bench: Bench, count: int, rate: int = 1) -> Figures:
    """Open a long conversation at its end, then read upwards."""
    place = bench.places[count]
    page = bench.page(rate, f"/c/{place.id}")
    look = f"""() => {{ const box = document.getElementById('message-{place.last}')?.getBoundingClientRect()
      return Boolean(box) && box.height > 0 && box.top < innerHeight && box.bottom > 0 }}"""
    tti = page.evaluate(f"probe.shown({look})")
    figures = {"TTI ms": tti, "DOM nodes": page.evaluate("document.querySelectorAll('*').length")}
    page.get_by_role("log").hover()
    page.evaluate("probe.start()")
    for _ in range(100):
        page.mouse.wheel(0, -400)
    figures["scroll dropped %"] = frames(page.evaluate("probe.stop()"))["dropped %"]
    page.cdp.send("HeapProfiler.collectGarbage")
    figures["heap MB"] = page.cdp.send("Runtime.getHeapUsage")["usedSize"] / 1e6
    figures["DOM nodes"] = max(figures["DOM nodes"], page.evaluate("document.querySelectorAll('*').length"))
    page.context.close()
    return figures


def first_load(bench: Bench) -> Figures:
    """Sizes of the build by its own budget script, and requests to anywhere else."""
    node = shutil.which("node")
    told = ""
    if node:
        script = str(ROOT / "frontend" / "scripts" / "budget.mjs")
        told = subprocess.run([node, script], capture_output=True, text=True, check=False).stdout
    sizes = [float(size) for size in re.findall(r": ([\d.]+) kB gz", told)]
    page = bench.page()
    elsewhere: list[str] = []
    page.on(
        "request", lambda r: None if r.url.startswith((bench.server.url, "data:", "blob:")) else elsewhere.append(r.url)
    )
    page.goto(bench.server.url)
    page.get_by_role("main").wait_for()
    page.context.close()
    js, css = sizes[:2] if len(sizes) >= 2 else (0.0, 0.0)
    return {
        "JS kB": js,
        "CSS kB": css,
        "chunks too big": float(len(sizes[2:])),
        "off the origin": float(len(elsewhere)),
    }


def cold(bench: Bench) -> Figures:
    """A cold load to a composer that can be typed in, and going back to a conversation that is cached."""
    page = bench.page(path="/c/new")
    usable = page.evaluate("probe.shown(() => document.activeElement?.matches('textarea.field'))")
    one, other = bench.places[40], bench.places[41]
    for place in (one, other):
        link(page, place).click()
        page.locator(f"#message-{place.last}").wait_for()
    switch = page.evaluate(
        """([href, last]) => { const from = performance.now(); document.querySelector(`nav a[href$="${href}"]`).click()
          return probe.shown(() => document.getElementById(`message-${last}`)).then(at => at - from) }""",
        [one.id, one.last],
    )
    page.context.close()
    return {"usable ms": usable, "switch ms": switch}


def link(page: Any, place: Place) -> Any:
    """The conversation's link in the sidebar."""
    return page.locator(f'nav a[href$="{place.id}"]').first


def trace(bench: Bench) -> Figures:
    """The trace of 5,000 calls."""
    page = bench.page(path=f"/runs/{bench.trace}")
    painted = page.evaluate("probe.shown(() => document.querySelectorAll('[role=treeitem]').length > 10)")
    asked: list[str] = []
    page.on("request", lambda r: asked.append(r.url) if r.url.endswith("/result") else None)
    picked = page.evaluate(
        """() => { const row = document.querySelectorAll('[role=treeitem]')[8]; const from = performance.now(); row.click()
          return probe.shown(() => document.getElementById(row.id)?.getAttribute('aria-selected') === 'true').then(at => at - from) }"""
    )
    nodes = page.evaluate("document.querySelectorAll('*').length")
    page.context.close()
    return {"first paint ms": painted, "select ms": picked, "DOM nodes": nodes, "payloads unasked": float(len(asked))}


def cut(bench: Bench) -> Figures:
    """The server is killed in the middle of an answer and started again; the model begins its step anew."""
    page = bench.page(path="/c/new")
    field = page.get_by_role("textbox", name="Message")
    field.fill("document, please")
    field.press("Enter")
    page.locator("[role=log] [aria-busy=true] .markdown").wait_for()
    page.wait_for_timeout(2_000)
    bench.server.kill()
    length = "(document.querySelector('[role=log] [aria-busy=true] .markdown')?.textContent.length ?? 0)"
    had = page.evaluate(length)
    bench.server.restart()
    since = time.perf_counter()
    page.evaluate(f"probe.shown(() => {length} !== {had} && {length} > 0)")
    back = time.perf_counter() - since
    page.get_by_role("group", name="Run", exact=True).wait_for(state="detached", timeout=90_000)
    shown = page.locator("[role=log] .markdown").last.evaluate("part => part.textContent")
    place = page.url.rsplit("/", 1)[1]
    stored = bench.server.get(f"/api/conversations/{place}/messages")["items"][-1]["content"]
    page.reload()
    page.locator("[role=log] .markdown").last.wait_for()
    again = page.locator("[role=log] .markdown").last.evaluate("part => part.textContent")
    page.context.close()
    return {"goes on s": back, "differs from stored": float(stored != document() or again != shown)}


MEASURES: dict[str, tuple[str, Callable[[Bench], Figures]]] = {
    "P1": ("5,000 tokens at 250/s", lambda b: stream(b, "document, please")),
    "P2": ("the same, CPU 4x slower", lambda b: stream(b, "document, please", 4)),
    "P3": ("one fence of 5,000 tokens", lambda b: stream(b, "fence, please")),
    "P4": ("5,000 messages", lambda b: conversation(b, 5_000)),
    "P4 4x": ("5,000 messages, CPU 4x slower", lambda b: conversation(b, 5_000, 4)),
    "P5": ("10,000 messages", lambda b: conversation(b, 10_000)),
    "P6": ("first load", first_load),
    "P7": ("cold load, cached switch", cold),
    "P8": ("trace of 5,000 calls", trace),
    "P9": ("server killed in mid-answer", cut),
}
