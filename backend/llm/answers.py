"""The offline provider's sentences: what a tool returned, told in English or Chinese, without a model."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from .. import strict_json
from ..agent.fence import unfence
from ..agent.types import JsonObject

ITEM_LIMIT = 40
TEXT_LIMIT_CHARS = 6_000
LINK_LIMIT = 30
_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_SKIES = {
    "clear": "晴", "partly cloudy": "少云", "cloudy": "多云", "light rain": "小雨", "rain": "雨",
    "thunderstorm": "雷雨", "fog": "雾", "snow": "雪",
}  # fmt: skip


def is_chinese(text: str) -> bool:
    """Whether an answer to this text should be in Chinese."""
    return _CJK.search(text) is not None


def result_of(content: Any) -> JsonObject:
    """The result object in a tool message; text that is none becomes `data`."""
    text = unfence(content) if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    start = text.find("{")
    try:
        value, _ = strict_json.Reader().raw_decode(text, start) if start >= 0 else (None, 0)
    except ValueError:
        value = None
    if isinstance(value, dict) and isinstance(value.get("success"), bool):
        return value
    return {"success": True, "data": value if value is not None and text.lstrip().startswith("{") else text}


def describe(tool: str, arguments: Mapping[str, Any], result: JsonObject, zh: bool) -> str:
    """One tool's result in readable sentences (Markdown)."""
    if not result.get("success"):
        return _failure(tool, result, zh)
    data = result.get("data")
    teller = _TELLERS.get(tool)
    if teller is not None and isinstance(data, dict):
        try:
            return teller(arguments, data, zh)
        except (KeyError, TypeError, ValueError):
            pass  # a result of another form than ours: told as it is
    return _plain(tool, data, zh)


def _failure(tool: str, result: JsonObject, zh: bool) -> str:
    why = str(result.get("error") or result.get("status") or "?")
    hint = str(result.get("suggestion") or "")
    said = f"工具 `{tool}` 没有成功：{why}" if zh else f"The tool `{tool}` did not succeed: {why}"
    return f"{said}\n\n{hint}" if hint and hint not in why else said


def _plain(tool: str, data: Any, zh: bool) -> str:
    lead = f"`{tool}` 的结果：" if zh else f"Result of `{tool}`:"
    if data is None or data == "":
        return f"`{tool}` 已完成。" if zh else f"`{tool}` is done."
    if isinstance(data, str | int | float | bool):
        text = str(data)
        return f"{lead} {text}" if "\n" not in text and len(text) < 200 else f"{lead}\n\n{_block(text)}"
    return f"{lead}\n\n{_block(json.dumps(data, ensure_ascii=False, indent=2), 'json')}"


def _block(text: str, kind: str = "") -> str:
    """A code block that its own content cannot close."""
    ticks = max((len(run) for run in re.findall(r"`{3,}", text)), default=2) + 1
    shown = text if len(text) <= TEXT_LIMIT_CHARS else text[:TEXT_LIMIT_CHARS] + "\n…"
    return f"{'`' * ticks}{kind}\n{shown.rstrip()}\n{'`' * ticks}"


# ---------------------------------------------------------------- each tool
def _calculator(arguments: Mapping[str, Any], data: JsonObject, zh: bool) -> str:
    value = data.get("text", data.get("value", data.get("result")))
    sign = "=" if data.get("exact", True) else "≈"
    return f"{str(arguments.get('expression', '')).strip()} {sign} **{value}**"


def _weather(arguments: Mapping[str, Any], data: JsonObject, zh: bool) -> str:
    sky = data["conditions"]
    if zh:
        return (
            f"{data['city']}今天的天气（模拟数据）：{_SKIES.get(sky, sky)}，气温 {data['temperature_c']} °C，"
            f"湿度 {data['humidity_percent']}%，风速 {data['wind_kmh']} km/h。"
        )
    return (
        f"Weather in {data['city']} today (simulated): {sky}, {data['temperature_c']} °C, "
        f"humidity {data['humidity_percent']} %, wind {data['wind_kmh']} km/h."
    )


def _file_list(arguments: Mapping[str, Any], data: JsonObject, zh: bool) -> str:
    items, path = data["items"], data.get("path") or "."
    if path == ".":
        where = "项目文件夹" if zh else "The project folder"
    else:
        where = f"`{path}`" if zh else f"The folder `{path}`"
    if not items:
        return f"{where}是空的。" if zh else f"{where} is empty."
    lines = [_item(item, zh) for item in items[:ITEM_LIMIT]]
    if len(items) > ITEM_LIMIT or data.get("truncated"):
        lines.append("- …")
    count = data.get("count", len(items))
    lead = f"{where}里有 {count} 项：" if zh else f"{where} holds {count} {'item' if count == 1 else 'items'}:"
    return "\n".join([lead, "", *lines])


def _item(item: JsonObject, zh: bool) -> str:
    if item.get("type") == "dir":
        return f"- `{item['path']}/` ({'文件夹' if zh else 'folder'})"
    return f"- `{item['path']}` ({_size(item.get('size'), zh)})"


def _size(size: Any, zh: bool) -> str:
    if not isinstance(size, int):
        return "?"
    return f"{size} 字节" if zh else f"{size} byte{'' if size == 1 else 's'}"


def _file_read(arguments: Mapping[str, Any], data: JsonObject, zh: bool) -> str:
    content, path = data["content"], data["path"]
    if data.get("binary"):
        kind = data.get("kind")
        return (
            f"`{path}` 是二进制文件（{kind}，{data['size']} 字节）。"
            if zh
            else f"`{path}` is a binary file ({kind}, {data['size']} bytes)."
        )
    if not content:
        return f"`{path}` 是空文件。" if zh else f"`{path}` is empty."
    lead = f"`{path}` 的内容：" if zh else f"`{path}` says:"
    more = ("\n\n（还有更多内容。）" if zh else "\n\n(There is more.)") if data.get("truncated") else ""
    return f"{lead}\n\n{_block(content)}{more}"


def _file_write(arguments: Mapping[str, Any], data: JsonObject, zh: bool) -> str:
    path, size = data["path"], _size(data.get("bytes"), zh)
    if arguments.get("mode") == "append" and not data.get("created"):
        return f"已在 `{path}` 末尾追加 {size}。" if zh else f"Added {size} to the end of `{path}`."
    if data.get("created"):
        return f"已创建 `{path}`（{size}）。" if zh else f"Created `{path}` ({size})."
    return f"已写入 `{path}`（{size}）。" if zh else f"Wrote `{path}` ({size})."


def _file_edit(arguments: Mapping[str, Any], data: JsonObject, zh: bool) -> str:
    diff = f"\n\n{_block(str(data['diff']), 'diff')}" if data.get("diff") else ""
    return (f"已修改 `{data['path']}`。" if zh else f"Changed `{data['path']}`.") + diff


def _file_mkdir(arguments: Mapping[str, Any], data: JsonObject, zh: bool) -> str:
    if data.get("created") is False:
        return f"文件夹 `{data['path']}` 已经存在。" if zh else f"The folder `{data['path']}` was there already."
    return f"已创建文件夹 `{data['path']}`。" if zh else f"Created the folder `{data['path']}`."


def _file_move(arguments: Mapping[str, Any], data: JsonObject, zh: bool) -> str:
    old, new = data["path"], data["new_path"]
    return f"已将 `{old}` 移动到 `{new}`。" if zh else f"Moved `{old}` to `{new}`."


def _file_delete(arguments: Mapping[str, Any], data: JsonObject, zh: bool) -> str:
    return f"已删除 `{data['path']}`（可以恢复）。" if zh else f"Deleted `{data['path']}` (it can be put back)."


def _file_exists(arguments: Mapping[str, Any], data: JsonObject, zh: bool) -> str:
    path = data["path"]
    if not data["exists"]:
        return f"`{path}` 不存在。" if zh else f"`{path}` does not exist."
    folder = data.get("type") == "dir"
    if zh:
        return f"`{path}` 存在，是{'文件夹' if folder else '文件'}。"
    return f"`{path}` exists; it is a {'folder' if folder else 'file'}."


def _file_search(arguments: Mapping[str, Any], data: JsonObject, zh: bool) -> str:
    matches, query = data["matches"], data["query"]
    if not matches:
        return f"没有找到“{query}”。" if zh else f"“{query}” was not found."
    lines = [f"- `{m['path']}`:{m['line']}  {_inline(str(m['text']))}" for m in matches[:ITEM_LIMIT]]
    lead = (
        f"“{query}”出现在 {len(matches)} 行："
        if zh
        else f"“{query}” is in {len(matches)} {'line' if len(matches) == 1 else 'lines'}:"
    )
    return "\n".join([lead, "", *lines, *(["- …"] if len(matches) > ITEM_LIMIT or data.get("truncated") else [])])


def _inline(text: str) -> str:
    return text.strip().replace("`", "'")[:160]


def _web_search(arguments: Mapping[str, Any], data: JsonObject, zh: bool) -> str:
    results, query = data["results"], data.get("query", arguments.get("query", ""))
    if not results:
        return f"没有搜到与“{query}”有关的结果。" if zh else f"Nothing was found for “{query}”."
    lines = [
        f"{i}. [{_label(r.get('title') or r['url'])}]({r['url']})\n   {_inline(str(r.get('snippet') or ''))}"
        for i, r in enumerate(results, 1)
    ]
    return "\n".join([f"“{query}”的搜索结果：" if zh else f"Search results for “{query}”:", "", *lines])


def _label(text: object) -> str:
    return re.sub(r"[\[\]\n]", " ", str(text)).strip()


def _page(arguments: Mapping[str, Any], data: JsonObject, zh: bool) -> str:
    url = data.get("final_url") or data.get("url") or arguments.get("url")
    title = f"**{_label(data.get('title') or url)}**\n{url}"
    if isinstance(data.get("links"), list):
        links = [
            f"- [{_label(link.get('text') or link.get('label') or link['url'])}]({link['url']})"
            for link in data["links"][:LINK_LIMIT]
        ]
        return "\n".join([title, "", *links, *(["- …"] if len(data["links"]) > LINK_LIMIT else [])])
    text = data.get("text") or data.get("content")
    if isinstance(text, str):
        return f"{title}\n\n{_quoted(text)}"
    rest = {k: v for k, v in data.items() if k not in ("title", "url", "final_url")}
    return f"{title}\n\n{_block(json.dumps(rest, ensure_ascii=False, indent=2), 'json')}"


def _quoted(text: str) -> str:
    shown = text if len(text) <= TEXT_LIMIT_CHARS else text[:TEXT_LIMIT_CHARS] + "…"
    return "\n".join(f"> {line}" for line in shown.strip().splitlines())


def _crawl(arguments: Mapping[str, Any], data: JsonObject, zh: bool) -> str:
    parts = []
    for item in data["results"]:
        if item.get("success"):
            parts.append(
                _page(
                    {"url": item.get("url")},
                    {**item, "text": str(item.get("text") or "")[:800]} if "text" in item else item,
                    zh,
                )
            )
        else:
            parts.append(f"{item.get('url')}: {item.get('error')}")
    return "\n\n".join(parts)


def _python(arguments: Mapping[str, Any], data: JsonObject, zh: bool) -> str:
    parts: list[str] = []
    if data.get("stdout"):
        parts.append(("输出：" if zh else "Output:") + f"\n\n{_block(str(data['stdout']))}")
    if data.get("value") is not None:
        value = str(data["value"])
        parts.append(
            ("值：" if zh else "Value:")
            + (f" `{value}`" if "\n" not in value and "`" not in value else f"\n\n{_block(value)}")
        )
    if data.get("error"):
        parts.append(("错误：" if zh else "Error:") + f"\n\n{_block(str(data['error']))}")
    if data.get("limit"):
        parts.append(f"达到了限制：{data['limit']}" if zh else f"A limit was hit: {data['limit']}")
    if data.get("files"):
        names = ", ".join(f"`{f['name']}`" for f in data["files"])
        parts.append(f"生成的文件（未保存）：{names}" if zh else f"Files it made (not saved): {names}")
    return "\n\n".join(parts) or ("代码已运行，没有输出。" if zh else "The code ran and printed nothing.")


def _children(arguments: Mapping[str, Any], data: JsonObject, zh: bool) -> str:
    parts = [f"**{_label(r['task_name'])}**\n\n{r.get('response') or r.get('error')}" for r in data["results"]]
    return "\n\n".join(parts)


def _value_of(tool: str) -> Callable[[Mapping[str, Any], JsonObject, bool], str]:
    """For tools whose data is one value, or an object that is best shown as it is."""

    def tell(arguments: Mapping[str, Any], data: JsonObject, zh: bool) -> str:
        value = data.get("result", data)
        if isinstance(value, str):
            return _block(value)
        if isinstance(value, dict) and all(
            isinstance(v, str | int | float | bool) or v is None for v in value.values()
        ):
            return "\n".join(f"- {key}: {item}" for key, item in value.items())
        return _plain(tool, value, zh)

    return tell


_TELLERS: dict[str, Callable[[Mapping[str, Any], JsonObject, bool], str]] = {
    "calculator": _calculator,
    "get_weather": _weather,
    "file_list": _file_list,
    "file_read": _file_read,
    "file_write": _file_write,
    "file_edit": _file_edit,
    "file_mkdir": _file_mkdir,
    "file_move": _file_move,
    "file_delete": _file_delete,
    "file_exists": _file_exists,
    "file_search": _file_search,
    "web_search": _web_search,
    "fetch_page": _page,
    "crawl_batch": _crawl,
    "execute_python": _python,
    "multi_agent": _children,
    "text_process": _value_of("text_process"),
    "json_process": _value_of("json_process"),
}
