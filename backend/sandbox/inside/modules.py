"""The lists: what is loaded, what code may import and see of it, and what to say about the rest."""

import builtins
import importlib
import importlib.util
import io
import itertools
import os
import pkgutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import files, guards, hints, speaking
from .words import words

#: may be imported; loaded before the walls go up
ALLOWED = words(
    "abc argparse array ast base64 binascii bisect calendar cmath codecs collections collections.abc colorsys configparser contextlib copy "
    "csv "
    "dataclasses datetime decimal difflib enum errno fractions functools graphlib gzip hashlib heapq hmac html html.parser io ipaddress "
    "itertools json json.decoder json.encoder keyword locale logging math numbers operator pprint queue random re secrets shlex statistics "
    "string struct textwrap time types typing unicodedata urllib.parse uuid weakref "
    "xml.etree.ElementTree zipfile zlib zoneinfo"
)
#: needed by the ones above when they run, never handed out
HIDDEN = words(
    "_strptime _string encodings.utf_8 encodings.ascii encodings.latin_1 encodings.cp1252 encodings.gbk "
    "encodings.gb18030 encodings.big5 encodings.utf_16 encodings.utf_8_sig encodings.idna encodings.utf_32 "
    "encodings.shift_jis encodings.punycode encodings.unicode_escape encodings.hex_codec encodings.utf_16_le "
    "encodings.utf_16_be encodings.utf_32_le encodings.charmap encodings.raw_unicode_escape encodings.rot_13 "
    "encodings.iso8859_2 encodings.iso8859_15 encodings.cp1250 encodings.cp1251 encodings.cp850 encodings.koi8_r "
    "encodings.mac_roman encodings.euc_jp encodings.utf_7 encodings.utf_32_be encodings.cp437 encodings.euc_kr traceback warnings linecache pathlib glob fnmatch posixpath gettext shutil "
    "stringprep"
)
#: loaded where installed, in a second helper; each with the parts that code may name
HEAVY: dict[str, tuple[str, ...]] = {
    "numpy": (
        "numpy.linalg", "numpy.random", "numpy.fft", "numpy.polynomial", "numpy.polynomial.polynomial", "numpy.ma",
        "numpy.testing", "numpy.char", "numpy.typing", "numpy.lib", "numpy.lib.stride_tricks", "numpy.exceptions",
    ),
    "pandas": (
        "pandas.api", "pandas.api.types", "pandas.errors", "pandas.testing", "pandas.tseries", "pandas.tseries.offsets",
        "pandas.plotting",
    ),
    "matplotlib": (
        "matplotlib.pyplot", "matplotlib.ticker", "matplotlib.dates", "matplotlib.patches", "matplotlib.colors",
        "matplotlib.cm", "matplotlib.gridspec", "matplotlib.lines", "matplotlib.figure",
    ),
}  # fmt: skip
#: modules whose __all__ leaves out what people use
IGNORE_ALL = frozenset({"calendar", "matplotlib.pyplot"})
ADDED = {
    "re": ("Pattern", "Match", "RegexFlag"),
    "random": ("BPF", "LOG4"),
    "json": ("JSONDecodeError",),
    "datetime": ("UTC",),
    "csv": ("QUOTE_STRINGS",),
    "hashlib": ("scrypt",),
    "logging": ("root",),
    "numpy.random": ("Generator",),
}
#: exactly these, for modules that would show more than is good
EXPLICIT: dict[str, Iterable[str]] = {
    "abc": ("ABC", "ABCMeta", "abstractmethod", "abstractproperty", "abstractclassmethod", "abstractstaticmethod"),
    "array": ("array", "typecodes", "ArrayType"),
    "ast": hints.ast_names(),
    "codecs": words("encode decode BOM_UTF8 BOM_UTF16 BOM_UTF16_LE BOM_UTF16_BE"),
    "gzip": ("compress", "decompress", "open", "GzipFile", "BadGzipFile"),
    "zipfile": ("ZipFile", "ZipInfo", "BadZipFile", "is_zipfile", "ZIP_DEFLATED", "ZIP_STORED"),
    "html.parser": ("HTMLParser",),
    "xml.etree.ElementTree": words(
        "Element SubElement ElementTree Comment ParseError QName TreeBuilder XML dump fromstring fromstringlist indent "
        "iselement iterparse parse tostring tostringlist"
    ),
    "bisect": ("bisect", "bisect_left", "bisect_right", "insort", "insort_left", "insort_right"),
    "colorsys": ("rgb_to_hsv", "hsv_to_rgb", "rgb_to_hls", "hls_to_rgb", "rgb_to_yiq", "yiq_to_rgb"),
    "hmac": ("new", "compare_digest", "digest", "HMAC"),
    "io": words(
        "StringIO BytesIO TextIOWrapper IOBase RawIOBase BufferedIOBase TextIOBase DEFAULT_BUFFER_SIZE SEEK_SET SEEK_CUR "
        "SEEK_END UnsupportedOperation"
    ),
    "ipaddress": (
        "ip_address", "ip_network", "ip_interface", "IPv4Address", "IPv6Address", "IPv4Network", "IPv6Network",
        "IPv4Interface", "IPv6Interface", "AddressValueError", "NetmaskValueError", "summarize_address_range",
        "collapse_addresses", "get_mixed_type_key",
    ),
    "locale": words("setlocale getlocale localeconv format_string currency atof atoi str Error LC_ALL LC_NUMERIC LC_TIME"),
    "json.decoder": ("JSONDecodeError", "JSONDecoder"),
    "json.encoder": ("JSONEncoder",),
    "string": (
        "ascii_letters", "ascii_lowercase", "ascii_uppercase", "digits", "hexdigits", "octdigits", "printable",
        "punctuation", "whitespace", "capwords", "Template",
    ),
    "types": (
        "SimpleNamespace", "MappingProxyType", "GeneratorType", "NoneType", "GenericAlias", "UnionType",
        "NotImplementedType", "EllipsisType", "MethodType", "FunctionType", "LambdaType", "BuiltinFunctionType",
    ),
    "uuid": (
        "UUID", "SafeUUID", "uuid1", "uuid3", "uuid4", "uuid5", "NAMESPACE_DNS", "NAMESPACE_URL", "NAMESPACE_OID",
        "NAMESPACE_X500",
    ),
    "weakref": ("ref", "proxy", "WeakKeyDictionary", "WeakValueDictionary", "WeakSet", "finalize"),
    "zoneinfo": ("ZoneInfo", "ZoneInfoNotFoundError"),
    "numpy.testing": words(
        "assert_ assert_allclose assert_almost_equal assert_approx_equal assert_array_almost_equal assert_array_equal "
        "assert_array_less assert_equal assert_raises assert_warns"
    ),
    "numpy.lib": ("NumpyVersion",),
    "pandas.api": (),
    "pandas.tseries": (),
    "matplotlib": ("rcParams", "rc", "use", "colormaps", "cycler", "rcParamsDefault", "rcdefaults", "rc_context"),
}  # fmt: skip
LEFT_OUT = {
    "typing": frozenset({"get_type_hints", "ForwardRef", "evaluate_forward_ref"}),
    "base64": frozenset({"main", "test", "encode", "decode"}),
    "time": frozenset({"tzset", "clock_settime", "clock_settime_ns"}),
    "pandas": frozenset({"read_pickle", "eval", "read_sql", "read_sql_query", "read_sql_table", "HDFStore"}),
    "numpy": frozenset({"fromfile", "memmap", "fromregex", "get_include", "show_config", "info", "test", "ctypeslib"}),
}

BUILTINS = words(
    "None True False Ellipsis NotImplemented __debug__ abs all any ascii bin bool bytearray bytes callable chr "
    "classmethod complex dict divmod enumerate filter float format frozenset hash hex id int isinstance "
    "issubclass iter len list map max min next object oct ord pow print property range repr reversed round set "
    "slice sorted staticmethod str sum super tuple zip memoryview aiter anext"
)

_NO_NETWORK = "code has no network: fetch the page with the crawling or search tools first and pass the data in"
_NO_SYSTEM = "code cannot reach the operating system; hand files in with the tool's `files` and use open('name')"
_ONE_THREAD = "code runs in one thread: write a plain loop"
_INSTEAD = {
    **dict.fromkeys(
        words("socket ssl http urllib requests httpx aiohttp ftplib smtplib urllib3 websocket"),
        _NO_NETWORK,
    ),
    **dict.fromkeys(
        words("subprocess ctypes signal pty fcntl resource mmap"),
        _NO_SYSTEM,
    ),
    **dict.fromkeys(words("threading multiprocessing concurrent asyncio _thread"), _ONE_THREAD),
    **dict.fromkeys(words("pickle marshal shelve dill joblib"), "use json"),
    **dict.fromkeys(words("importlib imp builtins runpy pkgutil code codeop"), "use import statements"),
    "numpy": "it is not installed here; use math, statistics and lists",
    "pandas": "it is not installed here; use csv, statistics and dicts",
    "matplotlib": "it is not installed here; print a table, or bars of '#'",
    "scipy": "use numpy, or write the formula",
    "sympy": "use fractions, decimal or numpy",
    "sklearn": "use numpy, for example numpy.linalg.lstsq",
    "seaborn": "use matplotlib where it is listed",
    "bs4": "use the crawling tool's text, or re",
    "yaml": "use json",
    "sqlite3": "use dicts, lists or pandas",
    "pytz": "use zoneinfo",
    "dateutil": "use datetime",
    **dict.fromkeys(words("unittest doctest pytest hypothesis"), "use assert"),
    **dict.fromkeys(words("cProfile profile tracemalloc line_profiler"), "use time.perf_counter"),
    "tempfile": "every file lives in memory anyway: open a plain name, or use io.StringIO",
    **dict.fromkeys(words("bz2 lzma tarfile"), "use zlib, gzip or zipfile"),
    **dict.fromkeys(words("tqdm rich tabulate prettytable colorama termcolor"), "use print with format specs"),
    "pydantic": "use dataclasses",
    "polars": "use pandas where it is listed, or csv",
}


def why_not(name: str, available: list[str]) -> str:
    """What a traceback adds when a module cannot be imported."""
    top = name.partition(".")[0]
    way = _INSTEAD.get(top)
    hint = f"Instead: {way}. " if way else ""
    return f"{hint}Available: {', '.join(available)}."


# ---------------------------------------------------------------- lazy work, done before the walls
def warm_up() -> None:
    """Let the standard library do now what it would otherwise do with files later."""
    import argparse
    import ast
    import datetime
    import locale
    import random
    import time
    import uuid

    time.localtime()
    datetime.datetime.strptime("2024-01-31 10:00 +0000", "%Y-%m-%d %H:%M %z")
    datetime.datetime.now().astimezone()
    locale.getlocale()
    random.random()
    uuid.uuid4()
    "é".encode("idna")
    speaking.warm_up()
    for module in (ast, argparse):
        hints.by_name(module)
    guards.OPEN.add(argparse.Namespace)


def _load_all(package: str) -> None:
    """Every part of a package that imports: libraries load many of theirs only when a function needs them."""
    home = importlib.import_module(package)
    for part in pkgutil.walk_packages(home.__path__, package + "."):
        try:
            importlib.import_module(part.name)
        except ImportError:  # needs another package that is not installed
            continue


def _open_of_the_moment(*args: Any, **kwargs: Any) -> Any:
    return builtins.open(*args, **kwargs)


def _warm_numpy() -> None:
    import numpy as np

    matrix = np.array([[2.0, 1.0], [1.0, 3.0]])
    np.linalg.solve(matrix, np.array([1.0, 2.0]))
    np.linalg.eig(matrix @ matrix)
    np.random.default_rng(1).normal(size=3)
    repr(matrix)
    np.savez(io.BytesIO(), a=matrix)
    # numpy keeps the function that opens text files: let it ask for the one in force at the time
    openers = importlib.import_module("numpy.lib._datasource")._file_openers
    openers._load()
    openers._file_openers[None] = _open_of_the_moment


def _warm_pandas() -> None:
    import pandas as pd

    for package in ("pandas.core", "pandas.io.formats", "pandas.io.json", "pandas.io.parsers", "pandas.io.excel"):
        _load_all(package)
    _guard_expressions()
    frame = pd.read_csv(io.StringIO("k,v,d\na,1,2024-01-01\nb,2,2024-02-01\na,3,2024-03-01"), parse_dates=["d"])
    repr(frame)
    frame.groupby("k")["v"].agg(["sum", "mean"]).reset_index().to_csv(index=False)
    frame.pivot_table(index="k", values="v", aggfunc="sum")
    frame.melt(id_vars="k").describe(include="all")
    frame.merge(frame, on="k").sort_values("v_x").query("v_x > 1")
    frame.set_index("d").resample("ME")["v"].sum().rolling(2).mean()
    frame["k"].str.upper().value_counts()
    frame.info(buf=io.StringIO())
    frame.to_json(orient="records")
    pd.read_json(io.StringIO(frame.to_json(orient="records")))
    frame.to_html()
    _warm_excel(frame)
    pd.get_dummies(frame["k"])
    pd.cut(frame["v"], 2)
    pd.to_datetime(["2024-01-31"]).strftime("%d.%m.%Y")


def _warm_excel(frame: Any) -> None:
    """Excel files, where openpyxl is installed; it writes each sheet to a temporary file, here one in memory."""
    os.environ["OPENPYXL_LXML"] = "False"  # lxml opens files by itself, past the table
    if importlib.util.find_spec("openpyxl") is None:
        return
    numbers = itertools.count()
    writer: Any = importlib.import_module("openpyxl.worksheet._writer")
    book = io.BytesIO()
    frame.to_excel(book)
    importlib.import_module("pandas").read_excel(book)

    def create_temporary_file(suffix: str = "") -> str:
        name = f".sheet-{next(numbers)}{suffix}"
        writer.ALL_TEMP_FILES.append(name)
        return name

    writer.create_temporary_file = create_temporary_file


def _guard_expressions() -> None:
    """`query` and `eval` of pandas read attributes by themselves: let them ask the policy first."""
    visitor = importlib.import_module("pandas.core.computation.expr").BaseExprVisitor
    real = visitor.visit_Attribute

    def visit_attribute(self: Any, node: Any, **options: Any) -> Any:
        if node.attr.startswith("_") or node.attr in guards.UNMATCHED:
            raise guards.SecurityError(guards.refusal(node.attr))
        return real(self, node, **options)

    visitor.visit_Attribute = visit_attribute


def _warm_matplotlib() -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    axes.plot([1, 2, 3], label="a")
    axes.bar([1, 2], [3, 4])
    axes.set_title("Title ä 你好 $x^2$")
    axes.legend()
    figure.savefig(io.BytesIO(), format="png")
    figure.savefig(io.BytesIO(), format="svg")
    plt.close("all")
    if importlib.util.find_spec("pandas") is not None:
        importlib.import_module("pandas.plotting._matplotlib")
    for package in ("matplotlib.backends.backend_pdf", "matplotlib.backends.backend_svg", "mpl_toolkits.mplot3d"):
        importlib.import_module(package)
    _keep_fonts(Path(matplotlib.get_data_path()) / "fonts")


def _keep_fonts(folder: Path) -> None:
    """matplotlib opens its fonts by path whenever it draws."""
    for path in folder.rglob("*"):
        if path.suffix in (".ttf", ".afm"):
            files.RESOURCES[files.plain_name(path)] = path.read_bytes()


WARM_HEAVY = {"numpy": _warm_numpy, "pandas": _warm_pandas, "matplotlib": _warm_matplotlib}
