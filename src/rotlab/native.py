"""Copying, filling and searching runs of tokens: the C library's routines in compiled code, slices in plain Python.

A compiled loop would take its time for each token, as it has to allow for indices that count from the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from rotlab.vocab import Tokens

_BYTES, _INT32, _INT64 = ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(64)


def copy_tokens(to: Tokens, at: int, source: Tokens, lo: int, hi: int) -> None:
    """to[at:] = source[lo:hi], which may overlap; nothing where hi <= lo; all within the arrays."""
    if lo < hi:
        to[at : at + hi - lo] = source[lo:hi].copy()


def fill_tokens(to: Tokens, lo: int, hi: int, token: int) -> None:
    """to[lo:hi] = token; nothing where hi <= lo; within the array."""
    to[lo:hi] = token


def find_token(text: Tokens, lo: int, hi: int, token: int) -> int:
    """Where `token` first stands in text[lo:hi], within the array; max(lo, hi) if nowhere."""
    found = np.flatnonzero(text[lo:hi] == token)
    return lo + int(found[0]) if len(found) else max(lo, hi)


def _address(context: Any, builder: Any, array_type: Any, array: Any, at: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), _BYTES)


@intrinsic
def _copy(typing: Any, to: Any, at: Any, source: Any, lo: Any, n: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        to_pointer = _address(context, builder, signature.args[0], args[0], args[1])
        from_pointer = _address(context, builder, signature.args[2], args[2], args[3])
        cgutils.raw_memmove(builder, to_pointer, from_pointer, args[4], 1)
        return context.get_dummy_value()

    return types.void(to, types.int64, source, types.int64, types.int64), generate


@intrinsic
def _fill(typing: Any, to: Any, at: Any, n: Any, token: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _address(context, builder, signature.args[0], args[0], args[1])
        memset = builder.module.declare_intrinsic("llvm.memset", [_BYTES, _INT64])
        builder.call(memset, [pointer, args[3], args[2], ir.Constant(ir.IntType(1), 0)])
        return context.get_dummy_value()

    return types.void(to, types.int64, types.int64, types.uint8), generate


@intrinsic
def _find(typing: Any, text: Any, lo: Any, n: Any, token: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        start = _address(context, builder, signature.args[0], args[0], args[1])
        memchr = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_BYTES, [_BYTES, _INT32, _INT64]), "memchr"
        )
        found = builder.call(memchr, [start, builder.zext(args[3], _INT32), args[2]])
        distance = builder.sub(builder.ptrtoint(found, _INT64), builder.ptrtoint(start, _INT64))
        return builder.select(cgutils.is_null(builder, found), args[2], distance)

    return types.int64(text, types.int64, types.int64, types.uint8), generate


@overload(copy_tokens, inline="always", strict=False)
def _(to: Any, at: Any, source: Any, lo: Any, hi: Any) -> Any:
    return lambda to, at, source, lo, hi: _copy(to, at, source, lo, max(0, hi - lo))


@overload(fill_tokens, inline="always", strict=False)
def _(to: Any, lo: Any, hi: Any, token: Any) -> Any:
    return lambda to, lo, hi, token: _fill(to, lo, max(0, hi - lo), token)


@overload(find_token, inline="always", strict=False)
def _(text: Any, lo: Any, hi: Any, token: Any) -> Any:
    return lambda text, lo, hi, token: lo + _find(text, lo, max(0, hi - lo), token)
