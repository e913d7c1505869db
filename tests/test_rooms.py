"""The order of the rooms, the size of files and functions, and what no file may hold."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path

import pytest

import rotlab

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "rotlab"
SOURCES = sorted(PACKAGE.rglob("*.py"))

# The order in which data flow: a room imports itself and what stands before it.
ROOMS = (
    "compiled",
    "vocab",
    "native",
    "rng",
    "tasks",
    "config",
    "contexts",
    "data",
    "models",
    "evaluation",
    "inference",
    "training",
    "report",
    "cli",
)

MAX_FILE_LINES = 350  # "about 300"
MAX_BODY_LINES = 40
# path under src/rotlab, or path::function -> lines allowed. Each with its reason in a comment.
ALLOWED_LONGER: dict[str, int] = {}


def module_name(path: Path) -> str:
    """src/rotlab/data/stream.py -> rotlab.data.stream; a package's __init__.py -> the package."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(source: str, package: str) -> Iterator[tuple[int, str]]:
    """(line, absolute name) of each import in `source`, lazy ones too; `package` resolves relative ones."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            # `from rotlab import data` names a room only after the `import`.
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith(("import_module", "__import__"))
            and isinstance(node.args[0], ast.Constant)
        ):
            yield node.lineno, resolve_name(str(node.args[0].value), package)


def forbidden_imports(source: str, module: str, is_package: bool) -> list[str]:
    """One line for each import in `source` that breaks the order of the rooms."""
    room = module.split(".")[1] if "." in module else "rotlab itself"
    # `rotlab` itself comes before all rooms.
    allowed = ROOMS[: ROOMS.index(room) + 1] if room in ROOMS else ()
    package = module if is_package else module.rpartition(".")[0]
    problems = []
    for line, name in imported_modules(source, package):
        top, _, rest = name.partition(".")
        target = rest.partition(".")[0]
        if top == "rotlab" and target and not target.startswith("__") and target not in allowed:
            problems.append(f"{module}:{line}: {room} may not import {target}")
    return problems


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function's body, its docstring not counted."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def repository_files() -> list[Path]:
    """The files that git tracks, and those that it would add."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    git = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "ls-files", "-z"]
    listed = subprocess.run(
        [*git, "--cached", "--others", "--exclude-standard"], check=True, capture_output=True, text=True
    )
    files = (ROOT / name for name in listed.stdout.split("\0") if name)
    return [path for path in files if path.is_file()]


def lines_matching(pattern: str) -> list[str]:
    """path:line of every line of the repository's text files that holds `pattern`."""
    found = []
    for path in repository_files():
        data = path.read_bytes()
        if b"\0" in data:
            continue
        for number, line in enumerate(data.decode(errors="replace").splitlines(), start=1):
            if re.search(pattern, line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    return found


def test_the_map_lists_the_rooms_in_order() -> None:
    assert tuple(re.findall(r"^    (\w+)  ", rotlab.__doc__ or "", flags=re.MULTILINE)) == ROOMS


def test_every_source_stands_in_a_room() -> None:
    tops = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in SOURCES}
    assert tops <= {*ROOMS, "__init__", "__main__"}


@pytest.mark.parametrize(
    ("module", "is_package", "source"),
    [
        ("rotlab.data", True, "from rotlab.training.run import main"),
        ("rotlab.data.stream", False, "from .. import models"),
        ("rotlab.data.stream", False, "from ..models.lstm import LSTM"),
        ("rotlab.vocab", False, "from rotlab import __version__, rng"),
        ("rotlab.vocab", False, "def lazy():\n    import rotlab.cli as c"),
        ("rotlab.tasks.add", False, "import importlib\nimportlib.import_module('rotlab.contexts')"),
        ("rotlab", True, "from .vocab import encode"),
    ],
)
def test_a_forbidden_import_is_seen(module: str, is_package: bool, source: str) -> None:
    assert len(forbidden_imports(source, module, is_package)) == 1


@pytest.mark.parametrize(
    ("module", "is_package", "source"),
    [
        ("rotlab.data", True, "from .stream import Stream\nfrom ..tasks import TASKS"),
        ("rotlab.data.stream", False, "from rotlab import __version__\nfrom . import batches\nimport torch"),
        ("rotlab.cli", False, "def lazy():\n    from rotlab.training import run\n    import rotlab"),
    ],
)
def test_an_allowed_import_is_left_alone(module: str, is_package: bool, source: str) -> None:
    assert forbidden_imports(source, module, is_package) == []


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_imports_follow_the_order_of_the_rooms(path: Path) -> None:
    if path == PACKAGE / "__main__.py":
        return
    source = path.read_text()
    if path == PACKAGE / "__init__.py":
        # It names for type checkers what it imports only when that is asked for.
        source, removed = re.subn(r"^if TYPE_CHECKING:\n(    .*\n)+", "", source, flags=re.MULTILINE)
        assert removed == 1
    assert forbidden_imports(source, module_name(path), path.name == "__init__.py") == []


def test_importing_the_package_imports_no_room() -> None:
    listing = "import sys, rotlab; print([name for name in sys.modules if name.startswith('rotlab.')])"
    assert subprocess.run([sys.executable, "-c", listing], check=True, capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_files_and_functions_stay_short(path: Path) -> None:
    name, source = path.relative_to(PACKAGE).as_posix(), path.read_text()
    lengths = {name: (len(source.splitlines()), MAX_FILE_LINES)}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lengths[f"{name}::{node.name}"] = (body_lines(node), MAX_BODY_LINES)
    assert {what: n for what, (n, most) in lengths.items() if n > ALLOWED_LONGER.get(what, most)} == {}


@pytest.mark.parametrize("module", ["rotlab.tasks", "rotlab.config", "rotlab.contexts", "rotlab.cli"])
def test_the_light_rooms_import_neither_torch_nor_lightning(module: str) -> None:
    program = f"import sys, {module}; print({{'torch', 'lightning', 'pytorch_lightning'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "set()"), done.stderr


def test_nothing_raises_the_recursion_limit() -> None:
    raising = [module_name(path) for path in SOURCES if "setrecursionlimit" in path.read_text()]
    assert raising == []


def test_no_file_names_a_path_of_one_machine() -> None:
    assert lines_matching(r"(?<![\w.~-])/(?:work|root|home|Users|tmp)/") == []


def test_no_file_names_a_package_registry() -> None:
    hosts = r"pypi[.]org|pythonhosted[.]org|download[.]pytorch|registry[.]npmjs|anaconda[.]org"
    assert lines_matching(hosts) == []
