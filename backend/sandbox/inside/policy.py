"""What may be written: RestrictedPython's transformer with ordinary Python given back and clear words for the rest.

It is the friendly wall, for good messages. What holds is the kernel's (see jail).
"""

import ast
import keyword
from typing import Any

from RestrictedPython.transformer import RestrictingNodeTransformer, copy_locations

from . import names
from .guards import SecurityError, refusal

#: names in the code's globals that source text cannot spell
PRIVATE, GUARDED, MATCHED, CHANGED = "guard private", "guard attribute", "guard match", "guard change"
IMPORT, IMPORT_FROM = "guard import", "guard import from"
GUARDS = [PRIVATE, GUARDED, MATCHED, CHANGED, IMPORT, IMPORT_FROM]
MESSAGES_MAX = 5

Refused = SecurityError
#: what the name of a type is made of
TYPE_NAMES = (
    ast.Expression, ast.Name, ast.Attribute, ast.Subscript, ast.BinOp, ast.BitOr, ast.Constant, ast.Tuple, ast.List,
    ast.Load,
)  # fmt: skip

_INSTEAD = {
    "eval": "write the expression itself, or ast.literal_eval for data",
    "exec": "write the statements themselves",
    "compile": "write the code itself",
    "globals": "keep values in a dict of your own",
    "locals": "keep values in a dict of your own",
    "input": "nobody can answer here; assign the value to a variable",
    "breakpoint": "use print",
    "__import__": "write an import statement",
    "__builtins__": "use the built-in functions by name",
    "help": "use print(thing.__doc__)",
    "__file__": "the code is no file; open files by their plain names",
}


def apply(tree: ast.Module) -> ast.Module:
    """The tree with guards in it; raises SecurityError that names every line at fault."""
    transformer = Policy()
    tree = transformer.visit(tree)
    if transformer.errors:
        shown = list(dict.fromkeys(transformer.errors))[:MESSAGES_MAX]
        raise SecurityError("\n".join(shown))
    return ast.fix_missing_locations(tree)


def is_plain(text: str) -> bool:
    """True for the name of a type, such as `dict[str, a.B] | None`, that the policy would let through as it stands."""
    tree = ast.parse(text.strip(), mode="eval")
    if not all(isinstance(node, TYPE_NAMES) for node in ast.walk(tree)):
        return False
    before = ast.dump(tree)
    transformer = Policy()
    after = transformer.visit(tree)
    return not transformer.errors and ast.dump(after) == before


def _call(name: str, args: list[ast.expr], at: ast.expr | ast.stmt) -> ast.Call:
    call = ast.Call(ast.Name(name, ast.Load()), args, [])
    copy_locations(call, at)
    return call


class Policy(RestrictingNodeTransformer):
    """Checks every name and attribute; wraps the few accesses that must be decided at run time."""

    def check_name(self, node: ast.AST, name: str | None, allow_magic_methods: bool = False) -> None:
        """Any name but the special ones."""
        if name is None or not names.is_special(name):
            return
        if name not in names.VARIABLES and not (allow_magic_methods and name in names.METHODS):
            self.error(node, f"The name {name!r} is not available here: {_INSTEAD.get(name, 'choose another name')}.")

    # ------------------------------------------------------------ plain Python again
    def _as_it_is(self, node: ast.AST) -> Any:
        return self.node_contents_visit(node)

    visit_For = visit_comprehension = visit_AugAssign = visit_Subscript = visit_Call = _as_it_is
    visit_Assign = visit_With = visit_withitem = visit_TypeIgnore = visit_NamedExpr = visit_Lambda = _as_it_is
    visit_AnnAssign = visit_match_case = visit_MatchValue = visit_MatchSingleton = _as_it_is
    visit_MatchSequence = visit_MatchOr = visit_arguments = visit_ListComp = visit_SetComp = _as_it_is
    visit_DictComp = visit_GeneratorExp = visit_Delete = visit_Module = visit_Try = _as_it_is

    def visit_Name(self, node: ast.Name) -> Any:
        """A variable."""
        if isinstance(node.ctx, ast.Load) and node.id in _INSTEAD:
            shown = node.id if node.id in ("__file__", "__builtins__") else f"{node.id}()"
            self.error(node, f"{shown} is not available here: {_INSTEAD[node.id]}.")
            return node
        self.check_name(node, node.id, allow_magic_methods=isinstance(node.ctx, ast.Load))
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        """`except E as name`."""
        self.check_name(node, node.name)
        return self.node_contents_visit(node)

    def _scoped_names(self, node: ast.Global | ast.Nonlocal) -> Any:
        for name in node.names:
            self.check_name(node, name)
        return node

    visit_Global = visit_Nonlocal = _scoped_names

    # ------------------------------------------------------------ attributes
    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """`thing.name`: refused, as it is, or through a guard."""
        node = self.node_contents_visit(node)
        loads = isinstance(node.ctx, ast.Load)
        if not loads and names.may_set_on_own(node.attr):
            node.value = _call(CHANGED, [node.value, ast.Constant(node.attr)], node.value)
        elif not (names.may_read if loads else names.may_set)(node.attr):
            self.error(node, refusal(node.attr))
        elif loads and node.attr in names.GUARDED:
            return _call(GUARDED, [node.value, ast.Constant(node.attr)], node)
        elif names.is_private(node.attr):
            node.value = _call(PRIVATE, [node.value, ast.Constant(node.attr)], node.value)
        return node

    def visit_Match(self, node: ast.Match) -> Any:
        """`match x: case Point(a, b)` reads the attributes that the class itself lists: they are looked at first."""
        patterns = [p for p in ast.walk(node) if isinstance(p, ast.MatchClass) and p.patterns]
        node = self.node_contents_visit(node)
        if patterns:
            looks: list[ast.expr] = [_lambda(p.cls) for p in patterns]
            node.subject = _call(MATCHED, [node.subject, *looks], node.subject)
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> Any:
        """`case Point(x=0)` reads attributes without asking."""
        for name in node.kwd_attrs:
            if name.startswith("_") or name in names.INSPECTION or name in names.GUARDED:
                self.error(node, f"The attribute {name!r} cannot be matched: read it in the case's body.")
        return self.node_contents_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> Any:
        """A captured name."""
        self.check_name(node, node.name)
        return self.node_contents_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> Any:
        """A captured rest of a sequence."""
        self.check_name(node, node.name)
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> Any:
        """A captured rest of a mapping."""
        self.check_name(node, node.rest)
        return self.node_contents_visit(node)

    # ------------------------------------------------------------ definitions
    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """A function or method."""
        self.check_name(node, node.name, allow_magic_methods=True)
        return self.node_contents_visit(node)

    def visit_arg(self, node: ast.arg) -> Any:
        """A parameter."""
        self.check_name(node, node.arg)
        return self.node_contents_visit(node)

    def visit_keyword(self, node: ast.keyword) -> Any:
        """`name=value` in a call."""
        self.check_name(node, node.arg)
        return self.node_contents_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """A class, with what its body may assign."""
        self.check_name(node, node.name)
        if any(isinstance(base, ast.Name) and base.id == "type" for base in node.bases):
            self.error(node, "Metaclasses are not available here: use a class decorator or __init_subclass__.")
        for statement in node.body:
            self._special_fields(statement)
        node.bases = [self.visit(base) for base in node.bases]
        node.keywords = [self.visit(k) for k in node.keywords]
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        body = [b if getattr(b, "checked", False) else self.visit(b) for b in node.body]
        node.body = [b for part in body for b in (part if isinstance(part, list) else [part])]
        # the names of a class body are looked up in what a metaclass's __prepare__ gives: not those of the guards
        node.body.insert(_has_docstring(node), ast.Global(GUARDS))
        return node

    def _special_fields(self, statement: ast.stmt) -> None:
        if not isinstance(statement, ast.Assign):
            return
        targets = [t.id for t in statement.targets if isinstance(t, ast.Name)]
        special = [t for t in targets if names.is_special(t)]
        if not special or len(targets) != len(statement.targets):
            return
        allowed = names.CLASS_FIELDS | names.METHODS
        if all(t in allowed for t in special) and ("__match_args__" not in special or _plain_names(statement.value)):
            statement.value = self.visit(statement.value)
            statement.checked = True  # type: ignore[attr-defined]

    def visit_AsyncFunctionDef(self, node: Any) -> Any:
        """No event loop inside."""
        self.error(node, "async code is not available here: write plain functions, there is nothing to wait for.")
        return node

    visit_Await = visit_AsyncFor = visit_AsyncWith = visit_AsyncFunctionDef

    def visit_TryStar(self, node: ast.AST) -> Any:
        """Refused since it once led round the guards."""
        self.error(node, "except* is not available here: use except.")
        return node

    # ------------------------------------------------------------ imports
    def visit_Import(self, node: ast.Import) -> Any:
        """`import a.b as c` becomes a call of the library."""
        statements = []
        for alias in node.names:
            target = alias.asname or alias.name.partition(".")[0]
            self.check_name(node, target)
            whole = ast.Constant(alias.asname is not None)
            call = _call(IMPORT, [ast.Constant(alias.name), whole], node)
            statements.append(_assign(target, call, node))
        return statements

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        """`from a import b as c` likewise."""
        if node.module == "__future__":
            return ast.copy_location(ast.Pass(), node)
        if node.level or node.module is None:
            self.error(node, "Relative imports are not available here: everything is in one piece of code.")
            return node
        statements = []
        for name, target in self._imported(node):
            call = _call(IMPORT_FROM, [ast.Constant(node.module), ast.Constant(name)], node)
            statements.append(_assign(target, call, node))
        return statements or ast.copy_location(ast.Pass(), node)

    def _imported(self, node: ast.ImportFrom) -> list[tuple[str, str]]:
        from . import library  # the views import guards, not this module

        found = []
        for alias in node.names:
            if alias.name == "*":
                found += [(name, name) for name in library.star_names(str(node.module))]
            else:
                self.check_name(node, alias.asname or alias.name)
                found.append((alias.name, alias.asname or alias.name))
        return found


def _has_docstring(node: ast.ClassDef) -> bool:
    first = node.body[0]
    return isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)


def _lambda(value: ast.expr) -> ast.Lambda:
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    function = ast.Lambda(nothing, value)
    copy_locations(function, value)
    return function


def _assign(target: str, value: ast.expr, at: ast.stmt) -> ast.Assign:
    assign = ast.Assign([ast.Name(target, ast.Store())], value)
    copy_locations(assign, at)
    return assign


def _plain_names(value: ast.expr) -> bool:
    """True for a literal tuple of public attribute names."""
    return isinstance(value, ast.Tuple) and all(
        isinstance(e, ast.Constant)
        and isinstance(e.value, str)
        and e.value.isidentifier()
        and not keyword.iskeyword(e.value)
        and not e.value.startswith("_")
        and e.value not in names.GUARDED | names.INSPECTION
        for e in value.elts
    )
