"""No path leads out: random trees with links, every path compared with a walk of a model held in memory."""

import os
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from backend.errors import FileProblem, WorkspaceViolation
from backend.workspace import BlobStore, MemoryChangeLog, Workspace, paths, trees

NAMES = ["a", "b", "c", "d", "é", "x.txt", "-evil", "proj", "..."]
MAX_LINKS = 40


@dataclass
class Node:
    """A folder (children), a file (content) or a link (target) of the model."""

    children: dict[str, "Node"] | None = None
    content: bytes | None = None
    target: str | None = None


@dataclass
class World:
    """`top/proj` is the project, `top/out` and `top/proj-evil` lie beside it."""

    top: Path
    rng: random.Random
    model: dict[str, Node] = field(default_factory=dict)
    files: int = 0

    @property
    def project(self) -> Path:
        return self.top / "proj"

    def build(self) -> None:
        for name in ("proj", "out", "proj-evil"):
            (self.top / name).mkdir()
            self.model[name] = Node(children={})
            self._fill(self.top / name, self.model[name], 3, "IN" if name == "proj" else "SECRET")

    def _fill(self, folder: Path, node: Node, depth: int, mark: str) -> None:
        for name in self.rng.sample(NAMES, self.rng.randint(1, 5)):
            kind = self.rng.choice(["dir", "dir", "file", "link", "link"]) if depth else "file"
            assert node.children is not None
            if kind == "dir":
                (folder / name).mkdir()
                node.children[name] = Node(children={})
                self._fill(folder / name, node.children[name], depth - 1, mark)
            elif kind == "file":
                self.files += 1
                content = f"{mark}-{self.files}".encode()
                (folder / name).write_bytes(content)
                node.children[name] = Node(content=content)
            else:
                target = self.target()
                (folder / name).symlink_to(target)
                node.children[name] = Node(target=target)

    def target(self) -> str:
        if self.rng.random() < 0.25:
            return self.rng.choice(
                [f"{self.top}/out", f"{self.top}/proj-evil", f"{self.top}/out/{self.rng.choice(NAMES)}"]
            )
        start = self.rng.choice(["", "", "", "../", "../../", "../../../", f"{self.top}/", f"{self.project}/", "/"])
        return start + self.relative() if start != "/" else self.rng.choice(["/etc/passwd", "/", f"{self.project}"])

    def relative(self) -> str:
        parts = [self.rng.choice([*NAMES, "..", ".", "out", "proj-evil", ""]) for _ in range(self.rng.randint(1, 4))]
        return "/".join(parts) or "."

    def existing(self) -> str:
        """A path along names that are there, through links too, now and then with a detour."""
        parts: list[str] = []
        for _ in range(self.rng.randint(1, 5)):
            node = self.expected("/".join(parts)) if parts else self.model["proj"]
            if not isinstance(node, Node) or not node.children:
                break
            name = self.rng.choice(list(node.children))
            parts.append(name)
            if self.rng.random() < 0.1:
                return "/".join([*parts, self.rng.choice(NAMES)])
            if self.rng.random() < 0.15:
                parts += ["..", name]
        return "/".join(parts) or "a"

    def path(self) -> str:
        if self.rng.random() < 0.6:
            return self.existing()
        head = self.rng.choice(["", "", "", "", "../", "./", f"{self.project}/", f"{self.top}/proj-evil/", "/"])
        return head + self.relative()

    def expected(self, path: str) -> Node | str | None:
        """The node `path` leads to, None if nothing is there, "outside" if the way leaves the project at any point."""
        base = list(self.project.parts[1:])
        todo = [p for p in path.split("/") if p not in ("", ".")]
        if path.startswith("/"):
            if todo[: len(base)] != base:
                return "outside"
            todo = todo[len(base) :]
        here: list[Node] = [self.model["proj"]]
        links = 0
        while todo:
            part, todo = todo[0], todo[1:]
            if part == "..":
                if len(here) == 1:
                    return "outside"
                here.pop()
                continue
            children = here[-1].children
            node = None if children is None else children.get(part)
            if node is None:
                return self._nothing(len(here), todo)
            if node.target is None:
                if node.children is None and todo:
                    return None
                here.append(node)
                continue
            links += 1
            if links > MAX_LINKS:
                return None
            parts = [p for p in node.target.split("/") if p not in ("", ".")]
            if node.target.startswith("/"):
                if parts[: len(base)] != base:
                    return "outside"
                parts, here = parts[len(base) :], here[:1]
            todo = parts + todo
        return here[-1]

    @staticmethod
    def _nothing(depth: int, todo: list[str]) -> str | None:
        for part in todo:
            depth += -1 if part == ".." else 1
            if depth < 0:
                return "outside"
        return None


def fingerprint(folder: Path) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for where, folders, files in os.walk(folder):
        for name in sorted([*folders, *files]):
            path = Path(where, name)
            seen = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else "dir"
            found.append((str(path), seen))
    return sorted(found, key=lambda item: item[0])


def check_read(workspace: Workspace, world: World, path: str) -> None:
    wanted = world.expected(path)
    try:
        with workspace.open(path).stream as stream:
            content = stream.read()
    except WorkspaceViolation:
        assert wanted == "outside", (path, wanted)
    except FileProblem:
        assert wanted is None or (isinstance(wanted, Node) and wanted.content is None), (path, wanted)
    else:
        assert isinstance(wanted, Node), (path, wanted)
        assert content == wanted.content, (path, wanted)


def check_stat_and_list(workspace: Workspace, world: World, path: str) -> None:
    wanted = world.expected(path)
    try:
        names = {entry.name for entry in workspace.list(path)}
    except WorkspaceViolation:
        assert wanted == "outside", (path, wanted)
    except FileProblem:
        assert wanted is None or (isinstance(wanted, Node) and wanted.children is None), (path, wanted)
    else:
        assert isinstance(wanted, Node), (path, wanted)
        assert names == set(wanted.children or {}), (path, wanted)


def kind_of(wanted: Node | str | None) -> str:
    if not isinstance(wanted, Node):
        return wanted or "nothing"
    return "file" if wanted.children is None else "folder"


def read_paths(folder: Path, seed: int, worlds: int, count: int) -> int:
    kinds: Counter[str] = Counter()
    for number in range(worlds):
        top = folder / f"w{seed}-{number}"
        top.mkdir()
        world = World(top, random.Random(f"{seed}/{number}"))
        world.build()
        workspace = Workspace("p", world.project, MemoryChangeLog(), BlobStore(folder / "blobs"))
        before = fingerprint(world.top)
        for _ in range(count):
            path = world.path()
            if path:
                check_read(workspace, world, path)
                check_stat_and_list(workspace, world, path)
                kinds[kind_of(world.expected(path))] += 1
        assert fingerprint(world.top) == before
    assert min(kinds[kind] for kind in ("file", "folder", "outside", "nothing")) > kinds.total() / 25, kinds
    return kinds.total()


@pytest.fixture(params=["kernel", "walk"])
def way(request, monkeypatch) -> str:
    """Both ways of finding a folder: openat2 where the kernel has it, and the walk alone."""
    if request.param == "walk":
        monkeypatch.setattr(paths, "beneath", SimpleNamespace(available=False))
    elif not paths.beneath.available:
        pytest.skip("this kernel has no openat2")
    return request.param


def test_reading_goes_where_the_model_says_and_never_outside(tmp_path, way):
    assert read_paths(tmp_path, 1, worlds=30, count=150) > 4_000


@pytest.mark.full
@pytest.mark.timeout(600)
def test_a_hundred_thousand_paths_never_lead_outside(tmp_path, way):
    assert read_paths(tmp_path, random.SystemRandom().randrange(10**9), worlds=320, count=320) > 100_000


def act(workspace: Workspace, rng: random.Random, path: str, other: str, mark: bytes) -> None:
    kind = rng.randrange(6)
    if kind == 0:
        workspace.write(path, mark)
    elif kind == 1:
        workspace.append(path, mark)
    elif kind == 2:
        trees.delete(workspace, path, recursive=rng.random() < 0.3)
    elif kind == 3:
        trees.move(workspace, path, other)
    elif kind == 4:
        workspace.mkdir(path)
    else:
        workspace.transform(path, lambda old: (old or b"") + mark, 1 << 20)


def write_paths(folder: Path, seed: int, worlds: int, acts: int) -> None:
    """Whatever is written, moved and deleted through the workspace: what lies outside stays as it was."""
    for number in range(worlds):
        top = folder / f"w{seed}-{number}"
        top.mkdir()
        world = World(top, random.Random(f"{seed}/{number}"))
        world.build()
        workspace = Workspace("p", world.project, MemoryChangeLog(), BlobStore(folder / "blobs"))
        outside = [fingerprint(world.top / name) for name in ("out", "proj-evil")]
        done = 0
        for step in range(acts):
            path, other = world.path(), world.path()
            try:
                act(workspace, world.rng, path, other, f"W{step}".encode())
                done += 1
            except (FileProblem, WorkspaceViolation):
                continue
        assert done, "no act succeeded: the test would show nothing"
        assert [fingerprint(world.top / name) for name in ("out", "proj-evil")] == outside
        assert sorted(os.listdir(world.top)) == ["out", "proj", "proj-evil"]
        assert world.project.is_dir()
        assert not list(world.project.rglob(".nanoclaw*"))


def test_writing_never_changes_what_lies_outside(tmp_path, way):
    write_paths(tmp_path, 2, worlds=15, acts=40)


@pytest.mark.full
@pytest.mark.timeout(900)
def test_writing_never_changes_what_lies_outside_at_length(tmp_path, way):
    write_paths(tmp_path, random.SystemRandom().randrange(10**9), worlds=200, acts=120)
