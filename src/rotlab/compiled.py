"""The decorator of every compiled function, and the cache that cannot serve old rules.

Numba's own cache keys a function by the file that it stands in. A cached driver that calls a rule in another file
would go on serving the old rule after that file was edited, in every later process: silently wrong data. So compiled
code is cached in a folder named by a hash of *all* sources that hold compiled code; an edit anywhere starts a new one.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numba
from numba import types

_PACKAGE = Path(__file__).resolve().parent
_COMPILED_ROOMS = ("compiled.py", "vocab.py", "native.py", "rng.py", "tasks", "contexts", "models/attention.py")


def source_hash() -> str:
    """Sixteen hex digits that change whenever a source with compiled code, or Numba, does."""
    digest = hashlib.sha256(numba.__version__.encode())
    for room in _COMPILED_ROOMS:
        path = _PACKAGE / room
        for source in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(source.relative_to(_PACKAGE).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """The folder of compiled code: under ROTLAB_CACHE_DIR, else the user's cache folder, else a temporary one."""
    base = os.environ.get("ROTLAB_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(base) / "rotlab" / source_hash()
    if not folder.exists() and not numba.config.DISABLE_JIT:
        print("rotlab: the first start after an edit compiles, for about a minute", file=sys.stderr, flush=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        warnings.warn(f"compiled code can't be kept in {folder} ({error}); a temporary folder is used", stacklevel=2)
    return Path(tempfile.mkdtemp(prefix="rotlab-"))


CACHE_FOLDER = cache_folder()


def compiled(function: Callable[..., Any]) -> Any:
    """`function` compiled by Numba at its first call and kept in `CACHE_FOLDER`; the plain function without JIT.

    It may read and write the arrays that it is given, but neither make nor return one: so it needs no reference counts,
    which would take longer than most of these functions do, to run and to compile.
    """
    return _compiled(function)


def inlined(function: Callable[..., Any]) -> Any:
    """As `compiled`, and written out wherever it is called: for what is called at each step with many arrays."""
    return _compiled(function, inline="always")


def reordered(function: Callable[..., Any]) -> Any:
    """As `compiled`, with sums of floats in any order, so that a processor takes several terms at once; and threads."""
    return _compiled(function, fastmath={"reassoc", "contract"}, nogil=True)


def choice_of(functions: Sequence[Any], number: str, *parameters: str) -> Any:
    """A compiled function of `number` and `parameters`, by their names, that calls functions[number] with the latter.

    It has an `if` for each of them, as the calls of a table of functions can't be compiled into their caller.
    """
    given = ", ".join(parameters)
    source = f"def chosen({number}, {given}):\n"
    for i in range(len(functions) - 1):
        source += f"    if {number} == {i}:\n        return function_{i}({given})\n"
    source += f"    return function_{len(functions) - 1}({given})\n"
    names = {f"function_{i}": function for i, function in enumerate(functions)}
    exec(source, names)
    return numba.njit(_nrt=False, inline="always")(names["chosen"])


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    kept, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(CACHE_FOLDER)
    try:
        dispatcher = numba.njit(cache=True, _nrt=False, **options)(function)
    finally:
        numba.config.CACHE_DIR = kept
    if not numba.config.DISABLE_JIT:
        _compile_once(dispatcher)
    return dispatcher


def _compile_once(dispatcher: Any) -> None:
    """Keep Numba from compiling a function anew for each constant that compiled code passes it (put(v, PLUS), ...)."""
    template = dispatcher.get_call_template

    def of_plain_types(args: Sequence[Any], kws: dict[str, Any]) -> Any:
        return template(tuple(map(types.unliteral, args)), {name: types.unliteral(arg) for name, arg in kws.items()})

    dispatcher.get_call_template = of_plain_types
