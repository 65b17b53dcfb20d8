"""Runs the measurements and prints value against goal."""

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from playwright.sync_api import sync_playwright
from support.browser import FLAGS, find_browser
from support.server import Server

from .measures import MEASURES, Bench, Figures
from .pace import Pace
from .world import fill

TRIES = 3
# The most that is allowed, by goal and figure. What stands in no list is told, not judged.
GOALS: dict[str, Figures] = {
    "P1": {"dropped %": 3, "frame p95 ms": 20, "TBT ms": 100, "key p95 ms": 50, "last token ms": 100},
    "P2": {"dropped %": 20, "TBT ms": 1500, "key p95 ms": 100},
    "P3": {"dropped %": 5, "TBT ms": 200},
    "P4": {"TTI ms": 1000, "DOM nodes": 2000, "scroll dropped %": 5},
    "P4 4x": {"TTI ms": 3000},
    "P5": {"TTI ms": 1500, "heap MB": 60},
    "P6": {"JS kB": 200, "CSS kB": 40, "chunks too big": 0, "off the origin": 0},
    "P7": {"usable ms": 1000, "switch ms": 200},
    "P8": {"first paint ms": 1000, "select ms": 100, "DOM nodes": 2000, "payloads unasked": 0},
    "P9": {"goes on s": 2, "differs from stored": 0},
}


def main() -> int:
    """Measure what was asked for; 1 if a goal was missed."""
    parser = argparse.ArgumentParser(prog="bench web")
    parser.add_argument("goals", nargs="*", help=f"of {', '.join(MEASURES)}; all without")
    parser.add_argument("--quick", action="store_true", help="one try of each, not the median of three")
    options = parser.parse_args()
    path = find_browser()
    if path is None:
        sys.stderr.write("No Chromium: apt install chromium, or name one with NANOCLAW_TEST_BROWSER\n")
        return 2
    chosen = {key: MEASURES[key] for key in MEASURES if not options.goals or key.split()[0] in options.goals}
    pace, missed = Pace(), 0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        settings = {"OPENAI_BASE_URL": pace.url, "OPENAI_API_KEY": "x", "OPENAI_MODEL": "m"}
        server = Server(Path(folder) / "instance", **settings)
        with server:
            link = server.login_link()
            server.stop()
            places, trace = fill(server.instance)
            server.start()
            browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
            context = browser.new_context()
            context.new_page().goto(link)
            bench = Bench(browser, server, pace, context.storage_state(), places, trace)
            context.close()
            load = os.getloadavg()[0]
            sys.stdout.write(
                f"{os.cpu_count()} cores, load {load:.1f} at the start, median of {1 if options.quick else TRIES}\n\n"
            )
            for key, (what, measure) in chosen.items():
                tries = [measure(bench) for _ in range(1 if options.quick else TRIES)]
                missed += show(key, what, {name: statistics.median(one[name] for one in tries) for name in tries[0]})
            browser.close()
    pace.close()
    sys.stdout.write(f"\nload {os.getloadavg()[0]:.1f} at the end; {missed} figures over their goal\n")
    return 1 if missed else 0


def show(key: str, what: str, figures: Figures) -> int:
    """Print one goal's lines; how many figures are over."""
    over = 0
    for name, value in figures.items():
        goal = GOALS[key].get(name)
        bad = goal is not None and value > goal
        over += bad
        told = "" if goal is None else f"goal {goal:g}"
        sys.stdout.write(f"{key:6} {what:32} {name:18} {value:10.1f}  {told:12} {'OVER' if bad else ''}\n")
    sys.stdout.flush()
    return over
