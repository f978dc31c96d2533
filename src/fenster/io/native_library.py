"""The compiled library of `fenster/native`, through ctypes: plain functions of pointers and sizes."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from fenster.io.progress import report

_FOLDER = Path(__file__).parents[1]
_POINTER, _SIZE, _INT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
_TYPES = {"p": _POINTER, "s": _SIZE, "i": _INT}
_FUNCTIONS = {  # arguments and result, as the C++ files have them
    "fenster_window_attention": ("pppppp" + "sssssss" + "pi", _INT),
    "fenster_packed_bytes": ("ssi", _SIZE),
    "fenster_pack": ("pssipp", None),
    "fenster_multiply": ("ppspi", _INT),
    "fenster_use_instructions": ("i", _INT),
    "fenster_structure_bytes": ("i", _SIZE),
    "fenster_search_new": ("pppssisp", _INT),
    "fenster_search_run": ("ps", _INT),
    "fenster_search_logs": ("pp", _INT),
    "fenster_search_step": ("ppps", _INT),
    "fenster_search_numbers": ("pp", _SIZE),
    "fenster_search_scores": ("pp", _SIZE),
    "fenster_search_free": ("p", None),
    "fenster_cross_attention": ("ppip", _INT),
    "fenster_memory_new": ("", _POINTER),
    "fenster_memory_free": ("p", None),
    "fenster_memory_bytes": ("p", _SIZE),
    "fenster_ter": ("psps", _SIZE),
}


@cache
def library() -> ctypes.CDLL | None:
    """The compiled library; None if the package was installed without a compiler."""
    paths = (_FOLDER / f"_native{suffix}" for suffix in EXTENSION_SUFFIXES)
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        return None
    try:
        loaded = ctypes.CDLL(str(path))
        for name, (arguments, result) in _FUNCTIONS.items():
            function = getattr(loaded, name)
            function.argtypes, function.restype = [_TYPES[one] for one in arguments], result
    except (OSError, AttributeError) as error:  # another system's, or an older version's
        report(
            f"the compiled library cannot be used ({error}); falling back to PyTorch. To fix this, reinstall fenster"
        )
        return None
    return loaded


def required_library() -> ctypes.CDLL:
    """The same where it is known to exist."""
    loaded = library()
    assert loaded is not None
    return loaded
