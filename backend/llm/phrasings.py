"""Plain sentences, English and Chinese, that can only mean one tool call; anything else means none.

Every pattern must cover the whole sentence, so a sentence that says more than we understand is not acted on.
Nothing here deletes, moves or replaces anything: such tools are used by command only.
"""

import re
import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cache

from ..agent.types import JsonObject

SENTENCE_LIMIT_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Intent:
    """What a sentence asks for. `unless_exists`: a path that must not exist yet. `by_command`: refused, this is how."""

    tool: str
    arguments: JsonObject = field(default_factory=dict)
    unless_exists: str = ""
    by_command: str = ""


_PLEASE = (
    re.compile(
        r"\A(?:(?:hi|hello|hey)[,!. ]+)?(?:(?:please|pls|kindly|can you|could you|would you|will you|i want you to"
        r"|i need you to|i'd like you to)[, ]+)*",
        re.IGNORECASE,
    ),
    re.compile(r"\A(?:你好[,，!！ ]*)?(?:(?:请|麻烦|帮我|帮忙|能不能|能|可以|你|给我|替我)+(?:一下)?)?"),
)
_TAIL = re.compile(
    r"(?:[,，]?\s*(?:please|for me|thanks|thank you|谢谢|好吗|可以吗|吧|呢|吗))?[\s?？!！。.=＝]*\Z", re.IGNORECASE
)
_PATH = r"[`\"'“「]?(?P<path>[\w./\\~+\-]*[\w\-]\.[A-Za-z0-9]{1,8}|[\w./\-]+/[\w.\-]+)[`\"'”」]?"
_FOLDER = r"[`\"'“「]?(?P<path>[\w./\-]+)[`\"'”」]?"
_URL = r"[<`\"'“]?(?P<url>https?://[^\s<>\"'`”，。]+)[>`\"'”]?"


def understand(text: str, tools: Collection[str]) -> Intent | None:
    """The one tool call that a sentence asks for, if it is offered; None if it is not understood."""
    if len(text) > SENTENCE_LIMIT_CHARS or text.startswith("/"):
        return None
    whole = unicodedata.normalize("NFC", text).strip()
    plain = _TAIL.sub("", _PLEASE[1].sub("", _PLEASE[0].sub("", whole, count=1), count=1)).strip()
    for candidate in dict.fromkeys((plain, whole)):
        for pattern, build in _compiled():
            match = pattern.fullmatch(candidate)
            intent = build(match) if match else None
            if intent is not None and intent.tool in tools:
                return intent
    arithmetic = expression_in(whole) or expression_in(plain)
    return Intent("calculator", {"expression": arithmetic}) if arithmetic and "calculator" in tools else None


# ---------------------------------------------------------------- arithmetic
_ASK = re.compile(
    r"\A(?:(?:what(?:'s| is| are)|how much (?:is|are)|calculate|compute|evaluate|work out|solve|the (?:value|result) of|tell me|compute me|the)\s*)+"
    r"|\A(?:请)?(?:计算|算一?下|算算|算|求|问)(?:一下)?[:：]?\s*",
    re.IGNORECASE,
)
_ASK_TAIL = re.compile(
    r"(?:\s*(?:equals?|is what|等于(?:多少|几)?|是多少|得多少|是几|结果(?:是多少)?|=|＝))?[\s?？。.!！]*\Z",
    re.IGNORECASE,
)
_WORDS: tuple[tuple[str, str], ...] = (
    (r"(?:the )?square root of\s*(?<![\d.])(\d++(?:\.\d++)?+)", r"sqrt(\1)"),
    (r"(?<![\d.])(\d++(?:\.\d++)?+)\s*的平方根", r"sqrt(\1)"),
    (r"根号\s*(?<![\d.])(\d++(?:\.\d++)?+)", r"sqrt(\1)"),
    (r"(?<![\d.])(\d++(?:\.\d++)?+)\s*的\s*(?<![\d.])(\d++(?:\.\d++)?+)\s*%", r"\2% of \1"),
    (r"(?<![\d.])(\d++(?:\.\d++)?+)\s*的百分之\s*(?<![\d.])(\d++(?:\.\d++)?+)", r"\2% of \1"),
    (r"(?<![\d.])(\d++(?:\.\d++)?+)\s*(?:percent|per cent)\s+of", r"\1% of"),
    (r"(?<![\d.])(\d++(?:\.\d++)?+)\s*的\s*(\d+)\s*次方", r"\1^\2"),
    (r"\s*(?:to the power of|raised to)\s*", "^"),
    (r"\s*(?:squared|的平方)", "^2"),
    (r"\s*(?:cubed|的立方)", "^3"),
    (r"\s*(?:multiplied by|times|乘以|乘上|乘)\s*", " * "),
    (r"\s*(?:divided by|除以)\s*", " / "),
    (r"\s*(?:plus|加上|加)\s*", " + "),
    (r"\s*(?:minus|减去|减)\s*", " - "),
)
# Possessive throughout: a long row of digits must not be tried in every way of cutting it up.
_EXPRESSION = re.compile(
    r"(?:\d++(?:[.,]\d++)*+(?:[eE][+-]?\d++)?+|[-+*/^%()!,×÷−·√ ]|of|mod"
    r"|sqrt|sin|cos|tan|asin|acos|atan|log10|log2|log|ln|exp|abs|round|floor|ceil|factorial|gcd|lcm|min|max|pi|π|e)++"
)
_OPERATION = re.compile(
    r"\d\s*(?:\*\*|//|[-+*/^×÷−]|mod)\s*[-(√]?\s*[\d(a-zπ√]|\d\s*%|\d!|[a-z√]\s*\(?\s*\d|[)]\s*[-+*/^×÷−]",
    re.IGNORECASE,
)


def expression_in(text: str) -> str:
    """The expression that a text is, or asks for; empty if it is anything more or less."""
    body = unicodedata.normalize("NFKC", text).strip()
    body = _ASK_TAIL.sub("", _ASK.sub("", body, count=1)).strip()
    for pattern, sign in _WORDS:
        body = re.sub(pattern, sign, body, flags=re.IGNORECASE)
    body = " ".join(body.split())
    if not _EXPRESSION.fullmatch(body.lower()) or not _OPERATION.search(body):
        return ""
    return "" if _is_date_or_phone(body) else body


def _is_date_or_phone(body: str) -> bool:
    return bool(
        re.fullmatch(
            r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}/\d{1,2}/\d{2,4}|\+?\d{2,4}(?:-\d{2,4}){2,}|\d{4}/\d{1,2}/\d{1,2}", body
        )
    )


# ---------------------------------------------------------------- everything else
Build = Callable[[re.Match[str]], Intent | None]


Rule = tuple[str, Build]


def _rule(pattern: str, build: Build) -> Rule:
    return pattern, build


@cache
def _compiled() -> tuple[tuple[re.Pattern[str], Build], ...]:
    """Compiled when the first sentence comes: an installation with a model never pays for it."""
    return tuple((re.compile(pattern, re.IGNORECASE | re.DOTALL), build) for pattern, build in _RULES)


def _city(match: re.Match[str]) -> Intent | None:
    city = re.sub(
        r"\A(?:the city of|today in)\s+|(?:\s+(?:today|now|right now))?\Z",
        "",
        match["city"].strip(),
        flags=re.IGNORECASE,
    )
    city = city.removesuffix("的").removesuffix("今天").removesuffix("现在").removesuffix("的").strip(" ,，")
    if (
        not city
        or len(city) > 60
        or re.search(r"tomorrow|yesterday|week|明天|昨天|后天|下周| and | or |[?？]", city, re.IGNORECASE)
    ):
        return None
    return Intent("get_weather", {"city": city})


def _list(match: re.Match[str]) -> Intent:
    path = (match.groupdict().get("path") or "").strip("/ ")
    here = path.lower() in ("", ".", "here", "project", "workspace", "folder", "directory", "this", "current")
    return Intent("file_list", {} if here else {"path": path})


def _read(match: re.Match[str]) -> Intent:
    return Intent("file_read", {"path": match["path"]})


def _write(match: re.Match[str]) -> Intent:
    content = match["content"].strip()
    quoted = re.fullmatch(r"[\"'“「](.*)[\"'”」]", content, re.DOTALL)
    fenced = re.fullmatch(r"```\w*\n(.*?)\n?```", content, re.DOTALL)
    content = fenced.group(1) + "\n" if fenced else quoted.group(1) if quoted else content
    return Intent("file_write", {"path": match["path"], "content": content}, unless_exists=match["path"])


def _append(match: re.Match[str]) -> Intent:
    content = match["content"].strip().strip("\"'“”「」")
    return Intent("file_write", {"path": match["path"], "content": f"{content}\n", "mode": "append"})


def _empty_file(match: re.Match[str]) -> Intent:
    return Intent("file_write", {"path": match["path"], "content": ""}, unless_exists=match["path"])


def _page(match: re.Match[str]) -> Intent:
    return Intent("fetch_page", {"url": match["url"]})


def _links(match: re.Match[str]) -> Intent:
    return Intent("fetch_page", {"url": match["url"], "extract_type": "links"})


def _search(match: re.Match[str]) -> Intent | None:
    query = match["query"].strip().strip('"“”')
    return Intent("web_search", {"query": query}) if query else None


def _find(match: re.Match[str]) -> Intent | None:
    query = match["query"].strip().strip("\"'“”「」")
    return Intent("file_search", {"query": query}) if query else None


def _by_command(tool: str, arguments: str) -> Build:
    return lambda match: Intent(tool, by_command=f"/{tool} {match.expand(arguments)}")


def _text(operation: str) -> Build:
    return lambda match: Intent("text_process", {"text": match["text"].strip(), "operation": operation})


def _json(operation: str) -> Build:
    return lambda match: Intent(
        "json_process", {"json_string": match["text"].strip().strip("`"), "operation": operation}
    )


def _code(match: re.Match[str]) -> Intent:
    return Intent("execute_python", {"code": match["code"].strip("\n")})


_IN_FOLDER = rf"(?: (?:in|of|under|inside) (?:the |my |this |our )?(?:folder |directory |dir )?{_FOLDER}(?: folder| directory| dir)?)?"
_COLON = r"\s*[:：,，]?\s*"
_RULES: tuple[Rule, ...] = (
    # weather
    _rule(r"(?:(?:what(?:'s| is)|how(?:'s| is)|tell me|show me|get|check)\s+)?(?:the )?(?:current )?weather (?:like )?(?:today )?(?:in|for|at|of)\s+(?P<city>.+)", _city),
    _rule(r"(?:what(?:'s| is) the )?weather[:：]\s*(?P<city>[^\n]+)", _city),
    _rule(r"(?P<city>[A-Z][\w .'-]{1,40}?)(?:'s)? weather(?: today)?", _city),
    _rule(r"(?:查(?:询|一下|看|查)?|看(?:看|一下)?|告诉我)?(?:今天|现在)?(?P<city>[^\s，。？?查看天气]{1,20}?)(?:今天|现在|目前)?的?天气(?:情况|预报)?(?:怎么样|怎样|如何|好不好)?", _city),
    # deleting, moving: how to do it by command
    _rule(rf"(?:delete|remove|erase|rm) (?:the )?(?:file |folder |directory )?{_PATH}", _by_command("file_delete", r"\g<path>")),
    _rule(rf"(?:删除|删掉|移除)(?:文件夹|文件|目录)?\s*{_PATH}(?:文件)?", _by_command("file_delete", r"\g<path>")),
    _rule(rf"(?:move|rename|mv) (?:the )?(?:file )?{_PATH} (?:to|into|as) [`\"']?(?P<new>[\w./\-]+)[`\"']?", _by_command("file_move", r"path=\g<path> new_path=\g<new>")),
    _rule(rf"(?:把)?\s*{_PATH}\s*(?:移动到|重命名为|改名为)\s*(?P<new>[\w./\-]+)", _by_command("file_move", r"path=\g<path> new_path=\g<new>")),
    # files
    _rule(rf"(?:list|show|display)(?: me)?(?: all| all of)?(?: the| my| our)? (?:files?|folder|directory|contents?)(?: and folders| and directories)?(?: here)?{_IN_FOLDER}", _list),
    _rule(rf"(?:what|which) files (?:are|do (?:i|we) have|exist)(?: there| here)?{_IN_FOLDER}", _list),
    _rule(rf"(?:ls|dir)(?: {_FOLDER})?", _list),
    _rule(r"(?:列出|显示|查看|看看|看一下)?(?:一下)?(?:当前)?(?:项目|目录|文件夹)?(?:里|下|中|里面|下面)?的?(?:所有|全部)?(?:都)?(?:有(?:哪些|什么))?文件(?:列表)?(?:有哪些)?", _list),
    _rule(rf"(?:列出|显示|查看|看看)\s*{_FOLDER}\s*(?:目录|文件夹)?(?:里|下|中|里面|下面)?的?(?:所有|全部)?文件", _list),
    _rule(rf"(?:read|open|show|cat|display|print|view)(?: me)? (?:the )?(?:(?:contents?|text) of )?(?:the )?(?:file )?{_PATH}(?: file)?", _read),
    _rule(rf"what(?:'s| is| does) (?:in |inside )?(?:the )?(?:file )?{_PATH}(?: say| contain)?", _read),
    _rule(rf"(?:读取|读一下|读|打开|查看|显示|看看|看一下)(?:一下)?(?:文件)?\s*{_PATH}(?:文件)?(?:的?内容)?", _read),
    _rule(rf"what(?:'s| is) in (?:the |my |this )?(?:folder |directory |project )?{_FOLDER}(?: folder| directory)?", _list),
    _rule(rf"(?:does|is) (?:the )?(?:file )?{_PATH} (?:exist|there)", lambda m: Intent("file_exists", {"path": m["path"]})),
    _rule(rf"(?:文件)?\s*{_PATH}\s*(?:这个文件)?(?:是否)?存在(?:不存在)?", lambda m: Intent("file_exists", {"path": m["path"]})),
    _rule(rf"(?:create|make|write|save|add) (?:a |an |the )?(?:new )?(?:text )?(?:file )?(?:called |named |at )?{_PATH}(?: file)?,? (?:with|containing|that (?:says|contains)|saying)(?: the)?(?: (?:contents?|text|words))?{_COLON}(?P<content>.+)", _write),
    _rule(rf"(?:write|save|put) (?P<content>[\"'“`].+[\"'”`]) (?:to|into|in) (?:a |the )?(?:new )?(?:file )?(?:called |named )?{_PATH}", _write),
    _rule(rf"(?:create|make|touch) (?:a |an )?(?:new )?(?:empty )?(?:text )?file (?:called |named )?{_PATH}", _empty_file),
    _rule(rf"(?:创建|新建|建立|写)(?:一个|个)?(?:新的?)?(?:文件)?(?:名为|叫做?|名字是)?\s*{_PATH}\s*(?:的?文件)?[，, ]*(?:其)?内容(?:为|是|写|写上)?{_COLON}(?P<content>.+)", _write),
    _rule(rf"(?:创建|新建|建立)(?:一个|个)?(?:新的?)?(?:空的?)?(?:文件)?(?:名为|叫做?|名字是)?\s*{_PATH}\s*(?:的?文件)?", _empty_file),
    _rule(rf"(?:append|add) (?P<content>.+) to (?:the )?(?:end of )?(?:the )?(?:file )?{_PATH}", _append),
    _rule(rf"(?:在|往)\s*{_PATH}\s*(?:的?末尾|里|中|文件)?(?:追加|添加|加上){_COLON}(?P<content>.+)", _append),
    _rule(rf"(?:create|make|add) (?:a |an )?(?:new )?(?:folder|directory) (?:called |named )?{_FOLDER}", lambda m: Intent("file_mkdir", {"path": m["path"]})),
    _rule(rf"mkdir {_FOLDER}", lambda m: Intent("file_mkdir", {"path": m["path"]})),
    _rule(rf"(?:创建|新建|建立)(?:一个|个)?(?:新的?)?(?:文件夹|目录)(?:名为|叫做?)?{_COLON}{_FOLDER}", lambda m: Intent("file_mkdir", {"path": m["path"]})),
    _rule(rf"(?:创建|新建|建立)(?:一个|个)?(?:名为|叫做?)?\s*{_FOLDER}\s*的?(?:文件夹|目录)", lambda m: Intent("file_mkdir", {"path": m["path"]})),
    _rule(r"(?:search|find|look|grep)(?: for)? (?P<query>.+) (?:in|inside|through) (?:all )?(?:the |my |our |these )?(?:project )?(?:files|project|code|folder|workspace)", _find),
    _rule(r"(?:search|grep) (?:the |my |our )?(?:project )?(?:files|project|code) for (?P<query>.+)", _find),
    _rule(r"在?(?:项目|文件|代码|所有文件)(?:里|中|里面)?(?:搜索|查找|搜|找)(?:一下)?\s*(?P<query>.+)", _find),
    # pages
    _rule(_URL, _page),
    _rule(rf"(?:fetch|open|read|get|visit|load|download|scrape|crawl|show|summari[sz]e|look at|go to|check)(?: me)? (?:out )?(?:the )?(?:(?:web ?)?(?:page|site|article|contents?|text))?(?: at| of| from)?\s*{_URL}", _page),
    _rule(rf"what(?:'s| is) (?:on|at) (?:the )?(?:page |site )?{_URL}", _page),
    _rule(rf"(?:抓取|打开|读取|访问|获取|下载|看看|看一下|总结|爬取|浏览)(?:一下)?(?:这个)?(?:网页|页面|网站|链接|网址|文章)?\s*[:：]?\s*{_URL}\s*(?:的?(?:内容|网页|页面))?", _page),
    _rule(rf"(?:list|show|get|extract|find)(?: me)? (?:all )?(?:the )?links (?:on|of|in|at|from) (?:the )?(?:page )?{_URL}", _links),
    _rule(rf"(?:列出|提取|获取)\s*{_URL}\s*(?:里|中|上)?的?(?:所有|全部)?链接", _links),
    # the web
    _rule(r"(?:search|google|bing)(?: (?:the )?(?:web|internet|net)| online)?(?: for| about)?\s*[:：]?\s*(?P<query>[^\n]+)", _search),
    _rule(r"(?:web search|look up|find (?:information|news|out) (?:about|on))(?: for)?\s*[:：]?\s*(?P<query>[^\n]+)", _search),
    _rule(r"(?:上网|在?网上|联网)?(?:搜索|搜一下|搜一搜|搜搜|检索|查一下|查询)(?:一下)?(?:关于)?\s*[:：]?\s*(?P<query>[^\n]+?)", _search),
    # code
    _rule(r"(?:run|execute)(?: (?:this|the|following))*(?: python)?(?: code| program| script)?\s*[:：]?\s*```(?:python|py)?\s*\n(?P<code>.*?)\n?```", _code),
    _rule(r"(?:运行|执行)(?:一下)?(?:这段|以下|下面的?)?\s*(?:python)?\s*(?:代码|程序)?\s*[:：]?\s*```(?:python|py)?\s*\n(?P<code>.*?)\n?```", _code),
    _rule(r"(?:run|execute) (?:the )?python(?: code)?\s*[:：]\s*(?P<code>.+)", _code),
    _rule(r"```(?:python|py)\s*\n(?P<code>.*?)\n?```", _code),
    # text and JSON
    _rule(r"(?:count|how many) (?:the )?(?:words|characters|letters|lines)(?: and characters)?(?: are)?(?: there)? ?in\s*[:：]?\s*(?P<text>.+)", _text("count")),
    _rule(r"(?:统计|数)(?:一下)?(?:字数|字符数|词数|行数)\s*[:：]\s*(?P<text>.+)", _text("count")),
    _rule(r"(?:reverse|倒序|反转)(?: the| this)?(?: text| string|文本|字符串)?\s*[:：]\s*(?P<text>.+)", _text("reverse")),
    _rule(r"(?:upper ?case|to upper ?case|转大写|转为大写)\s*[:：]\s*(?P<text>.+)", _text("upper")),
    _rule(r"(?:lower ?case|to lower ?case|转小写|转为小写)\s*[:：]\s*(?P<text>.+)", _text("lower")),
    _rule(r"(?:base64 encode|base64编码)\s*[:：]?\s*(?P<text>.+)", _text("base64_encode")),
    _rule(r"(?:base64 decode|base64解码)\s*[:：]?\s*(?P<text>.+)", _text("base64_decode")),
    _rule(r"(?:extract|find|提取)\s*(?:the |all )?(?:e-?mails?|邮箱)(?: addresses|地址)?(?: (?:from|in))?\s*[:：]\s*(?P<text>.+)", _text("extract_emails")),
    _rule(r"(?:format|pretty[- ]?print|beautify|格式化)\s*(?:this |the |这段)?json\s*[:：]?\s*(?P<text>[\[{`].+)", _json("format")),
    _rule(r"(?:validate|check|校验|检查)\s*(?:this |the |这段)?json\s*[:：]?\s*(?P<text>[\[{`].+)", _json("validate")),
    _rule(r"(?:minify|压缩)\s*(?:this |the |这段)?json\s*[:：]?\s*(?P<text>[\[{`].+)", _json("minify")),
)  # fmt: skip
