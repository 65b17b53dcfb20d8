"""What an honest program meets: values, streams, files, errors that help, and the modules it may use."""

import json

import pytest

from backend import sandbox
from backend.sandbox.inside import limits, modules
from backend.sandbox.inside.words import words

FIELDS = set(
    words("stdout stderr value error_type error truncated limit wall_seconds cpu_seconds peak_memory_mb files walls")
)
PROMISED = words(
    "math cmath statistics random decimal fractions datetime calendar time zoneinfo json csv re string textwrap "
    "itertools functools operator collections heapq bisect array copy enum dataclasses typing abc contextlib io base64 "
    "binascii hashlib hmac uuid secrets struct unicodedata difflib pprint html urllib.parse ipaddress graphlib"
)


def test_every_field_of_the_contract_is_there() -> None:
    result = sandbox.run_code("import sys\nprint('out')\nprint('err', file=sys.stderr)\n{'a': [1, None]}")
    assert set(result) >= FIELDS
    assert (result["stdout"], result["stderr"]) == ("out\n", "err\n")
    assert result["value"] == "{'a': [1, None]}"
    assert result["value_json"] == {"a": [1, None]}
    assert result["walls"]["seccomp"] == "on"
    assert result["wall_seconds"] > 0
    assert 1 < result["peak_memory_mb"] < 200
    json.dumps(result)


@pytest.mark.parametrize("name", PROMISED)
def test_promised_modules_can_be_imported_and_read(name: str) -> None:
    result = sandbox.run_code(f"import {name} as m\nlen(dir(m))")
    assert result["error"] is None
    assert int(result["value"]) > 2


@pytest.mark.parametrize("name", list(modules.HEAVY))
def test_heavy_modules_are_there_where_installed(name: str) -> None:
    pytest.importorskip(name)
    assert sandbox.run_code(f"import {name}\n{name}.__version__")["error"] is None


def test_the_traceback_shows_the_users_lines_only() -> None:
    result = sandbox.run_code("import json\ndef load(t):\n    return json.loads(t)\nload('{')")
    assert result["error_type"] == "JSONDecodeError"
    assert 'File "<code>", line 3, in load' in result["error"]
    assert "return json.loads(t)" in result["error"]
    assert "site-packages" not in result["error"]
    assert "decoder.py" not in result["error"]


@pytest.mark.parametrize(
    "code",
    [
        "import urllib.parse\nurllib.parse.quote('a b')",
        "import xml.etree.ElementTree\nxml.etree.ElementTree.fromstring('<a/>').tag",
        "import os.path\nos.path.join('a', 'b')",
        "import collections.abc\nisinstance([], collections.abc.Sequence)",
        "from urllib import parse\nparse.quote('a')",
        "from os import path\npath.exists('x')",
        "import gzip\ngzip.decompress(gzip.compress(b'a'))",
        "import ast\nast.literal_eval('[1]')",
    ],
)
def test_imports_work_in_every_form(code: str) -> None:
    assert sandbox.run_code(code)["error"] is None


def test_a_chained_error_names_its_cause() -> None:
    result = sandbox.run_code("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('bad row') from e")
    assert result["error"].startswith("ZeroDivisionError: division by zero")
    assert result["error"].endswith("ValueError: bad row")


def test_a_syntax_error_points_at_the_line() -> None:
    result = sandbox.run_code("x = 1\nif x\n    print(x)")
    assert result["error_type"] == "SyntaxError"
    assert "line 2" in result["error"]


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("eval('1 + 1')", "write the expression itself"),
        ("import requests", "no network"),
        ("import subprocess", "files"),
        ("import threading", "plain loop"),
        ("x = input('name?')", "assign the value"),
        ("import scipy", "numpy"),
        ("print((lambda: 0).__globals__)", "pass values as arguments"),
        ("async def f(): pass", "plain functions"),
        ("globals()['x'] = 1", "dict of your own"),
        ("open('missing.csv')", "no file was handed in"),
        ("import os\nos.system('ls')", "no attribute 'system' here"),
    ],
)
def test_what_is_forbidden_is_answered_with_what_to_write_instead(code: str, hint: str) -> None:
    result = sandbox.run_code(code)
    assert result["error_type"] in ("SecurityError", "ModuleNotFoundError", "FileNotFoundError", "AttributeError")
    assert hint in result["error"]


def test_files_are_read_from_memory_and_written_as_proposals() -> None:
    code = (
        "import csv\n"
        "rows = list(csv.DictReader(open('in/data.csv', newline='')))\n"
        "with open('out.csv', 'w', newline='') as f:\n"
        "    w = csv.DictWriter(f, ['k', 'v2'])\n"
        "    w.writeheader()\n"
        "    w.writerows({'k': r['k'], 'v2': int(r['v']) * 2} for r in rows)\n"
        "unclosed = open('notes.txt', 'a')\n"
        "unclosed.write('!')\n"
    )
    given = {"in/data.csv": b"k,v\na,1\nb,2\n", "notes.txt": b"hello"}
    result = sandbox.run(sandbox.SandboxRequest(code, files=given))
    assert result["error"] is None
    assert result["files"] == [{"name": "notes.txt", "size": 6}, {"name": "out.csv", "size": 16}]
    assert result.contents == {"notes.txt": b"hello!", "out.csv": b"k,v2\r\na,2\r\nb,4\r\n"}


def test_written_files_survive_an_error_but_not_the_size_limit() -> None:
    failed = sandbox.run(sandbox.SandboxRequest("open('a.txt', 'w').write('kept')\n1 / 0"))
    assert failed.contents == {"a.txt": b"kept"}
    big = sandbox.run_code("f = open('a', 'wb')\nwhile True:\n    f.write(bytes(10 ** 6))")
    assert (big["error_type"], big["limit"]) == ("OSError", "files")


def test_names_cannot_lead_out_of_the_table() -> None:
    assert sandbox.run_code("open('../x', 'w')")["error_type"] == "PermissionError"
    assert sandbox.run_code("open('/etc/passwd')")["error_type"] == "FileNotFoundError"


def test_output_is_cut_with_a_flag() -> None:
    result = sandbox.run_code("for i in range(10 ** 5):\n    print('é' * 100)")
    assert len(result["stdout"]) == limits.STDOUT_MAX_CHARS
    assert (result["truncated"], result["limit"], result["error"]) == (True, "output", None)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("'a' * 10 ** 10", "MemoryError"),
        ("x = [0]\nwhile True:\n    x = x + x", "MemoryError"),
        ("def f(): return f()\nf()", "RecursionError"),
        ("raise SystemExit('stopped: ' + 'why')", "SystemExit"),
    ],
)
def test_exhaustion_is_an_ordinary_error(code: str, kind: str) -> None:
    result = sandbox.run_code(code)
    assert result["error_type"] == kind
    assert result["limit"] == ("memory" if kind == "MemoryError" else None)


def test_an_exit_without_a_reason_is_no_error() -> None:
    result = sandbox.run_code("import sys\nprint('x')\nsys.exit()\nprint('y')")
    assert (result["stdout"], result["error"]) == ("x\n", None)


def test_dice_are_thrown_anew_in_every_run() -> None:
    codes = ["import random\nrandom.random()", "import uuid\nstr(uuid.uuid4())", "import secrets\nsecrets.token_hex(8)"]
    for code in codes:
        assert len({sandbox.run_code(code)["value"] for _ in range(4)}) == 4
    pytest.importorskip("numpy")
    code = "import numpy as np\nnp.random.rand()"
    assert len({sandbox.run_code(code)["value"] for _ in range(4)}) == 4


def test_deep_recursion_after_raising_the_limit() -> None:
    code = "import sys\nsys.setrecursionlimit(10 ** 6)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\nf(15000)"
    assert sandbox.run_code(code)["value"] == "15000"


def test_too_much_code_or_data_is_refused_before_it_starts() -> None:
    assert sandbox.run_code("#" * (limits.CODE_MAX_BYTES + 1))["limit"] == "code"
    assert sandbox.run_code("1", {"a": bytes(limits.FILES_IN_MAX_BYTES + 1)})["limit"] == "files"


def test_odd_sources_come_back_as_errors() -> None:
    assert sandbox.run_code("x = '\ud800'")["error"] is not None
    assert sandbox.run_code("x = 1\0")["error_type"] == "SyntaxError"
    assert sandbox.run_code("")["error"] is None
    assert sandbox.run_code("print('\\ud800')")["stdout"] == "\\ud800\n"


def test_pandas_reads_and_writes_the_files_in_memory() -> None:
    pytest.importorskip("pandas")
    code = (
        "import pandas as pd\ndf = pd.read_csv('d.csv')\ndf.assign(c=df.a + df.b).to_csv('o.csv', index=False)\nlen(df)"
    )
    result = sandbox.run(sandbox.SandboxRequest(code, files={"d.csv": b"a,b\n1,2\n3,4\n"}))
    assert (result["value"], result.contents) == ("2", {"o.csv": b"a,b,c\n1,2,3\n3,4,7\n"})


def test_a_plot_becomes_a_picture_where_matplotlib_is_installed() -> None:
    pytest.importorskip("matplotlib")
    result = sandbox.run(sandbox.SandboxRequest("import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()"))
    assert result.contents["figure_1.png"].startswith(b"\x89PNG")


def test_excel_files_are_written_and_read_in_memory() -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")
    code = (
        "import pandas as pd\n"
        "pd.DataFrame({'a': [1, 2]}).to_excel('o.xlsx', index=False)\n"
        "pd.read_excel('o.xlsx')['a'].sum().item()\n"
    )
    result = sandbox.run(sandbox.SandboxRequest(code))
    assert (result["error"], result["value"], list(result.contents)) == (None, "3", ["o.xlsx"])
