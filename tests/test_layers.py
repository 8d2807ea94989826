"""Imports point one way, and files stay short enough to read."""

import ast
import importlib
import re
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "stationary"

# From the bottom up: a module imports from its own row and from the rows above it.
LAYERS = [
    {"errors"},
    {"model"},
    {"derive"},
    {"lower"},
    {"result"},
    {"solve"},
    {"pages"},
    {"io", "many", "plot"},
    {"browser"},
    # The public list. Whatever it lists must not import it in turn; the applications below may.
    {"", "public"},
    {"cli", "report", "studio", "__main__"},
]
RANK = {part: rank for rank, layer in enumerate(LAYERS) for part in layer}

# The rooms of sliding, from the bottom up, by the same rule.
SLIDING = ["problem", "convex", "coulomb", "telling", "instant", "over_time", "limits"]

LONGEST = 600
COEFFICIENT_TABLES: set[str] = set()  # the only files that may be longer, as paths from the root


def module_name(path: Path, package: Path) -> str:
    """Return the dotted name of a file; a package is named without ``__init__``."""
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules(package: Path) -> dict[str, Path]:
    return {module_name(path, package): path for path in sorted(package.rglob("*.py"))}


@cache
def nodes(source: str) -> list[ast.AST]:
    """Return the nodes of a file; parsed once."""
    return list(ast.walk(ast.parse(source)))


def imports(source: str, name: str, is_package: bool, known: set[str]) -> set[tuple[int, str]]:
    """Find every import of our own modules, wherever it stands, as (line, dotted name)."""
    home = name.split(".") if is_package else name.split(".")[:-1]
    found: set[tuple[int, str]] = set()
    for node in nodes(source):
        if isinstance(node, ast.Import):
            found |= {(node.lineno, alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            stem = home[: len(home) - node.level + 1] if node.level else []
            base = ".".join([*stem, *([node.module] if node.module else [])])
            for alias in node.names:
                # ``from package import thing``: a module if there is one, else part of the package.
                full = f"{base}.{alias.name}"
                found.add((node.lineno, full if full in known else base))
        elif isinstance(node, ast.Call):
            called = node.func
            function = getattr(called, "attr", None) or getattr(called, "id", None)
            first = node.args[0] if node.args else None
            if function in {"import_module", "__import__"} and isinstance(first, ast.Constant):
                found.add((node.lineno, str(first.value)))
    root = name.split(".")[0]
    return {(line, target) for line, target in found if target.split(".")[0] == root}


def part(name: str) -> str:
    """Return the part of the package that holds a module: ``stationary.model.x`` → ``model``."""
    return (name.split(".") + [""])[1]


def violations(package: Path) -> list[str]:
    """Name every import that points from an earlier layer to a later one."""
    files = modules(package)
    wrong = []
    for name, path in files.items():
        if part(name) == "":
            continue  # the public list imports everything
        source = path.read_text(encoding="utf-8")
        for line, target in sorted(imports(source, name, path.name == "__init__.py", set(files))):
            if RANK[part(target)] > RANK[part(name)]:
                wrong.append(f"{path.relative_to(package.parent)}:{line} imports {target}")
    return wrong


def test_every_part_of_the_package_has_a_layer():
    assert {part(name) for name in modules(PACKAGE)} <= RANK.keys()


def test_imports_point_one_way():
    assert violations(PACKAGE) == []


def test_rooms_of_sliding_import_from_those_below_alone():
    files, wrong = modules(PACKAGE), []
    home = "stationary.solve.sliding."
    inside = {name: path for name, path in files.items() if name.startswith(home)}
    assert {name[len(home) :].split(".")[0] for name in inside} == set(SLIDING)
    for name, path in inside.items():
        room = name[len(home) :].split(".")[0]
        source = path.read_text(encoding="utf-8")
        for line, target in imports(source, name, path.name == "__init__.py", set(files)):
            other = target[len(home) :].split(".")[0] if target.startswith(home) else room
            if SLIDING.index(other) > SLIDING.index(room):
                wrong.append(f"{room}/{path.name}:{line} imports {target}")
    assert wrong == []


def test_applications_stand_on_the_public_api_alone():
    """Command line and report are renderers: one asks the other nothing it was not offered."""
    files = modules(PACKAGE)
    for name, path in files.items():
        room = part(name)
        if room not in ("cli", "report", "studio"):
            continue
        source = path.read_text(encoding="utf-8")
        below = {"cli": {"report", "studio"}, "studio": {"report"}}
        allowed = {"", "errors", "pages", room} | below.get(room, set())
        for line, target in imports(source, name, path.name == "__init__.py", set(files)):
            assert part(target) in allowed, f"{path.name}:{line} imports {target}"
        # What begins with an underscore belongs to somebody else, except of argparse and notebooks.
        others = [
            node.attr
            for node in nodes(source)
            if isinstance(node, ast.Attribute) and re.match("_(?!_)", node.attr)
            and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "argparse"))
        ]  # fmt: skip
        known = {"_repr_latex_", "_actions", "_choices_actions", "_repr_html_"}
        assert set(others) <= known, (name, others)


def test_live_pages_ask_what_a_user_can_ask():
    """A page is on the public list and cannot import it: it imports what is listed, by name.

    Beside that it takes from the mechanics of its own room, and shares the look of pictures.
    """
    listed = {*importlib.import_module("stationary").__all__, "view", "COLORS"}
    for name in ("page", "words"):
        for node in nodes((PACKAGE / "browser" / f"{name}.py").read_text("utf-8")):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stationary."):
                if part(node.module or "") not in ("browser", "errors", "pages"):
                    assert {alias.name for alias in node.names} <= listed, (name, node.module)


def test_examples_show_what_a_user_can_type():
    allowed = {"stationary", "examples", "numpy", "scipy", "matplotlib", "sympy"}
    for path in sorted((ROOT / "examples").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                root, *deeper = name.split(".")
                assert root in allowed | sys.stdlib_module_names, (path.name, name)
                assert root != "stationary" or not deeper, f"{path.name} reaches into {name}"


@pytest.mark.parametrize(
    "statement",
    [
        "import stationary.solve.statics",
        "import stationary.solve.statics as s",
        "from stationary.solve.statics import statics",
        "from stationary.solve import statics",
        "from stationary import solve",
        "from ..solve import statics",
        "from .. import solve",
        "import stationary",
        "from stationary import System",
        "def f():\n    from stationary.solve.statics import statics",
        "import importlib\nimportlib.import_module('stationary.solve.statics')",
    ],
)
def test_a_backward_import_is_found_in_every_spelling(tmp_path, statement):
    package = tmp_path / "stationary"
    for folder in (package, package / "model", package / "solve"):
        folder.mkdir()
        (folder / "__init__.py").write_text("", encoding="utf-8")
    (package / "solve" / "statics.py").write_text("import stationary.model.terms\n", "utf-8")
    (package / "model" / "terms.py").write_text("import sympy\nfrom . import system\n", "utf-8")
    (package / "model" / "system.py").write_text("", encoding="utf-8")
    assert violations(package) == []

    (package / "model" / "system.py").write_text(statement, encoding="utf-8")
    assert len(violations(package)) == 1


def test_no_python_file_is_longer_than_it_should_be():
    folders = ("src", "tests", "examples", "benchmarks", "docs")
    files = [*ROOT.glob("*.py"), *(p for folder in folders for p in (ROOT / folder).rglob("*.py"))]
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in files
    }
    too_long = {path: lines for path, lines in lengths.items() if lines > LONGEST}
    assert too_long.keys() <= COEFFICIENT_TABLES, too_long


# -- inside the parts -------------------------------------------------------------------------


def run_time_imports(source: str, name: str, is_package: bool, known: set[str]) -> set[str]:
    """Find imports that run, wherever they stand: those for type checkers alone do not."""
    typing = {
        line
        for node in nodes(source)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for line in range(node.lineno, node.body[-1].lineno + 1)
    }
    every = imports(source, name, is_package, known)
    return {target for line, target in every if line not in typing}


def test_no_modules_import_each_other():
    files = modules(PACKAGE)
    graph = {
        name: run_time_imports(path.read_text("utf-8"), name, path.stem == "__init__", set(files))
        & set(files) - {name}
        for name, path in files.items()
        # The public list is imported by applications, and imports none.
        if part(name) not in ("", "public")
    }
    # Raises what it finds: a circle, module by module.
    TopologicalSorter({name: t & graph.keys() for name, t in graph.items()}).prepare()


def test_what_begins_with_an_underscore_stays_in_its_file():
    wrong = [
        f"{name} imports {alias.name}"
        for name, path in modules(PACKAGE).items()
        for node in nodes(path.read_text("utf-8"))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stationary")
        for alias in node.names
        if re.match("_(?!_)", alias.name)
    ]
    assert wrong == []


def test_classes_are_abstract_or_final():
    """What is subclassed begins with Abstract, or is an error or a symbol of SymPy."""
    bases = {}
    for path in modules(PACKAGE).values():
        for node in nodes(path.read_text("utf-8")):
            if isinstance(node, ast.ClassDef):
                names = [getattr(b, "id", getattr(b, "attr", "")) for b in node.bases]
                bases.setdefault(node.name, set()).update(names)

    def stems(name: str) -> set[str]:
        return {name}.union(*(stems(b) for b in bases.get(name, ()) if b != name))

    kinds = {"Exception", "Symbol", "Expr", "AtomicExpr", "Function"}
    wrong = [
        f"{name}({base})"
        for name, several in bases.items()
        for base in several
        if base in bases and not base.startswith("Abstract") and not stems(base) & kinds
    ]
    assert wrong == []


# -- sizes ------------------------------------------------------------------------------------

SIZES = {"abs", "fabs", "norm", "hypot", "largest", "ptp"}


def called(node: ast.AST) -> str:
    return (
        getattr(node.func, "attr", getattr(node.func, "id", ""))
        if isinstance(node, ast.Call)
        else ""
    )


def test_nothing_is_judged_against_one_unit():
    """Sizes are judged beside sizes: neither max(1, |x|) nor |x| < 1e-9 knows a unit."""

    def size(node: ast.AST) -> bool:
        return any(called(part) in SIZES for part in ast.walk(node))

    def number(node: ast.AST, low: float, high: float) -> bool:
        value: Any = getattr(node, "value", None)
        return type(value) in (int, float) and low <= value <= high

    wrong = []
    for path in modules(PACKAGE).values():
        short = path.relative_to(PACKAGE).as_posix()
        some: Any
        for some in nodes(path.read_text("utf-8")):
            node, pairs, least = some, [], (1, 1)
            if called(node) in ("max", "maximum") and len(node.args) == 2:
                pairs = [tuple(node.args), tuple(node.args[::-1])]
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
                pairs = [(node.left, node.right), (node.right, node.left)]
            elif isinstance(node, ast.Compare):
                pairs = [(node.comparators[0], node.left), (node.left, node.comparators[0])]
                least = (1e-200, 1e-4)
            if any(number(a, *least) and size(b) for a, b in pairs):
                wrong.append(f"{short}:{node.lineno} {ast.unparse(node)}")
    assert wrong == []


# -- names ------------------------------------------------------------------------------------

#: Words that hold anything, and therefore say nothing; and those that do so as names of locals.
EMPTY = re.compile("_?(found|made)", re.IGNORECASE)
WEAK = {"told", "asked", "together", "others", "still", "rough", "says"}


def locals_of(function: ast.AST) -> set[str]:
    """Return arguments and assigned names of a function, those of functions inside included."""
    inside = list(ast.walk(function))
    stored = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored | {n.arg for n in inside if isinstance(n, ast.arg)}


def test_names_say_what_they_hold():
    wrong = [
        f"{module}:{getattr(node, 'lineno', '')} {getattr(node, kind)}"
        for module, path in modules(PACKAGE).items()
        for node in nodes(path.read_text("utf-8"))
        for kind in ("id", "arg", "attr", "name")
        if EMPTY.fullmatch(str(getattr(node, kind, "")))
    ]
    wrong += [
        f"{module}:{node.lineno} {node.name}: {weak}"
        for module, path in modules(PACKAGE).items()
        for node in nodes(path.read_text("utf-8"))
        if isinstance(node, ast.FunctionDef) and (weak := locals_of(node) & WEAK)
    ]
    assert wrong == []
