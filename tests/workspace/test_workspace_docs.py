"""What docs/files.md says is so: its example runs, its tools, folders and error codes are the real ones."""

import re
from pathlib import Path

from backend import errors
from backend.tools import init_tools, registry
from backend.workspace.listing import NOT_WALKED

TEXT = (Path(__file__).parents[2] / "docs" / "files.md").read_text()


def test_the_example_runs(tmp_path):
    (example,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(example.replace("/tmp/", f"{tmp_path}/"), {})


def test_each_file_tool_is_named_with_all_its_arguments():
    init_tools()
    rows = dict(re.findall(r"^\| `(file_\w+)` \| `(.*?)` \|", TEXT, re.MULTILINE))
    tools = [tool for tool in registry.all() if tool.name.startswith("file_")]
    assert set(rows) == {tool.name for tool in tools}
    for tool in tools:
        named = re.findall(r"(?:^|, )(\w+)", rows[tool.name])
        assert named == list(tool.parameters["properties"]), tool.name
        assert tool.description
        assert not any(key.startswith("_") or key == "project_id" for key in tool.parameters["properties"])


def test_each_error_code_and_skipped_folder_is_named():
    for error in (
        errors.WorkspaceViolation,
        errors.FileMissing,
        errors.FileTaken,
        errors.QuotaExceeded,
        errors.FileProblem,
        errors.NoProject,
    ):
        assert f"| `{error.code}` |" in TEXT
    assert all(f"`{name}`" in TEXT for name in NOT_WALKED)
