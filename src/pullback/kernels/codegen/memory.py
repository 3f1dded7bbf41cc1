"""A caching allocator for large arrays, in machine code, installed in NumPy (NEP 49).

Fresh memory is expensive: the system clears each page when it is first touched, which takes about as long as a simple
operation on the whole array. So freed blocks are kept, by size class, up to :data:`LIMIT` bytes together, and NumPy
asks here for its data, also for arrays that it makes itself. Blocks begin on a cache line, and large ones ask Linux for
huge pages, which spare TLB misses.
"""

from __future__ import annotations

import ctypes
import sys

import numpy as np

from ...base import forks
from . import jit

SMALL = 1 << 16  # bytes: below, the C library's allocator is as fast
LIMIT = 256 << 20
ROOM = 24  # cached blocks of one size class
HUGE = 1 << 21  # bytes of a huge page; blocks of two or more are made of them
# Four classes a doubling: a block is at most a quarter larger than what it is used for. Class k holds sizes up to
# (4 + k % 4) << (k // 4 + 14), the first of them 64 KiB.
CLASSES = 4 * 26

ADVISE = (
    f"""%whole = and i64 %full, {-HUGE}
  %advised = call i32 @madvise(ptr %new, i64 %whole, i32 14) ; MADV_HUGEPAGE"""
    if sys.platform == "linux"
    else ""
)

TEXT = f"""
@lock.$$ = internal global i64 0, align 64
@kept.$$ = internal global i64 0, align 64
@hits.$$ = internal global i64 0, align 8
@count.$$ = internal global [{CLASSES} x i64] zeroinitializer, align 64
@block.$$ = internal global [{CLASSES * ROOM} x ptr] zeroinitializer, align 64
declare ptr @malloc(i64)
declare ptr @calloc(i64, i64)
declare ptr @realloc(ptr, i64)
declare void @free(ptr)
declare i32 @posix_memalign(ptr, i64, i64)
declare i32 @madvise(ptr, i64, i32)
declare i64 @llvm.ctlz.i64(i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define internal void @enter.$$() #0 {{
entry:
  br label %try
try:
  %c = cmpxchg ptr @lock.$$, i64 0, i64 1 acquire monotonic
  %ok = extractvalue {{ i64, i1 }} %c, 1
  br i1 %ok, label %out, label %try
out:
  ret void
}}

define internal void @leave.$$() #0 {{
entry:
  store atomic i64 0, ptr @lock.$$ release, align 8
  ret void
}}

define internal i64 @class.$$(i64 %size) #0 {{
entry:
  %below = sub i64 %size, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %below, i1 false)
  %top = sub i64 63, %zeros
  %shift = sub i64 %top, 2
  %quarter = lshr i64 %below, %shift
  %over = add i64 %quarter, 1
  %doubling = sub i64 %shift, 14
  %four = mul i64 %doubling, 4
  %sum = add i64 %four, %over
  %k = sub i64 %sum, 4
  ret i64 %k
}}

define internal i64 @rounded.$$(i64 %k) #0 {{
entry:
  %doubling = lshr i64 %k, 2
  %part = and i64 %k, 3
  %quarters = add i64 %part, 4
  %shift = add i64 %doubling, 14
  %size = shl i64 %quarters, %shift
  ret i64 %size
}}

define ptr @take.$$(ptr %context, i64 %size) #0 {{
entry:
  %place = alloca ptr
  %small = icmp ult i64 %size, {SMALL}
  br i1 %small, label %plain, label %large
plain:
  %p = call ptr @malloc(i64 %size)
  ret ptr %p
large:
  %k = call i64 @class.$$(i64 %size)
  %full = call i64 @rounded.$$(i64 %k)
  %known = icmp ult i64 %k, {CLASSES}
  br i1 %known, label %look, label %fresh
look:
  call void @enter.$$()
  %where = getelementptr i64, ptr @count.$$, i64 %k
  %n = load i64, ptr %where
  %some = icmp ne i64 %n, 0
  br i1 %some, label %reuse, label %none
none:
  call void @leave.$$()
  br label %fresh
reuse:
  %n1 = sub i64 %n, 1
  store i64 %n1, ptr %where
  %base = mul i64 %k, {ROOM}
  %index = add i64 %base, %n1
  %slot = getelementptr ptr, ptr @block.$$, i64 %index
  %found = load ptr, ptr %slot
  %kept = load i64, ptr @kept.$$
  %less = sub i64 %kept, %full
  store i64 %less, ptr @kept.$$
  %h = load i64, ptr @hits.$$
  %h1 = add i64 %h, 1
  store i64 %h1, ptr @hits.$$
  call void @leave.$$()
  ret ptr %found
fresh:
  %huge = icmp uge i64 %full, {2 * HUGE}
  %align = select i1 %huge, i64 {HUGE}, i64 64
  %failed = call i32 @posix_memalign(ptr %place, i64 %align, i64 %full)
  %ok = icmp eq i32 %failed, 0
  br i1 %ok, label %made, label %empty
made:
  %new = load ptr, ptr %place
  br i1 %huge, label %advise, label %out
advise:
  {ADVISE}
  br label %out
out:
  ret ptr %new
empty:
  ret ptr null
}}

define void @give.$$(ptr %context, ptr %block, i64 %size) #0 {{
entry:
  %small = icmp ult i64 %size, {SMALL}
  %none = icmp eq ptr %block, null ; NumPy's argsort gives back buffers that it never took
  %simple = or i1 %small, %none
  br i1 %simple, label %plain, label %large
plain:
  call void @free(ptr %block)
  ret void
large:
  %k = call i64 @class.$$(i64 %size)
  %known = icmp ult i64 %k, {CLASSES}
  br i1 %known, label %look, label %plain
look:
  %full = call i64 @rounded.$$(i64 %k)
  call void @enter.$$()
  %where = getelementptr i64, ptr @count.$$, i64 %k
  %n = load i64, ptr %where
  %room = icmp ult i64 %n, {ROOM}
  %kept = load i64, ptr @kept.$$
  %more = add i64 %kept, %full
  %fits = icmp ule i64 %more, {LIMIT}
  %keep = and i1 %room, %fits
  br i1 %keep, label %put, label %drop
drop:
  call void @leave.$$()
  call void @free(ptr %block)
  ret void
put:
  %n1 = add i64 %n, 1
  store i64 %n1, ptr %where
  %base = mul i64 %k, {ROOM}
  %index = add i64 %base, %n
  %slot = getelementptr ptr, ptr @block.$$, i64 %index
  store ptr %block, ptr %slot
  store i64 %more, ptr @kept.$$
  call void @leave.$$()
  ret void
}}

define ptr @clear.$$(ptr %context, i64 %n, i64 %each) #0 {{
entry:
  %size = mul i64 %n, %each
  %small = icmp ult i64 %size, {SMALL}
  br i1 %small, label %plain, label %large
plain:
  %p = call ptr @calloc(i64 %n, i64 %each)
  ret ptr %p
large:
  %block = call ptr @take.$$(ptr %context, i64 %size)
  %none = icmp eq ptr %block, null
  br i1 %none, label %out, label %zero
zero:
  call void @llvm.memset.p0.i64(ptr %block, i8 0, i64 %size, i1 false)
  br label %out
out:
  ret ptr %block
}}

define void @empty.$$() #0 {{
entry:
  call void @enter.$$()
  br label %classes
classes:
  %k = phi i64 [ 0, %entry ], [ %k1, %next ]
  %more = icmp ult i64 %k, {CLASSES}
  br i1 %more, label %one, label %out
one:
  %where = getelementptr i64, ptr @count.$$, i64 %k
  %n = load i64, ptr %where
  store i64 0, ptr %where
  %base = mul i64 %k, {ROOM}
  br label %blocks
blocks:
  %i = phi i64 [ 0, %one ], [ %i1, %drop ]
  %any = icmp ult i64 %i, %n
  br i1 %any, label %drop, label %next
drop:
  %index = add i64 %base, %i
  %slot = getelementptr ptr, ptr @block.$$, i64 %index
  %block = load ptr, ptr %slot
  call void @free(ptr %block)
  %i1 = add i64 %i, 1
  br label %blocks
next:
  %k1 = add i64 %k, 1
  br label %classes
out:
  store i64 0, ptr @kept.$$
  call void @leave.$$()
  ret void
}}

; In a forked child: what a thread that is not there was changing is half changed, so that no cached block is certain.
define void @repair.$$() #0 {{
entry:
  %held = load i64, ptr @lock.$$
  %whole = icmp eq i64 %held, 0
  br i1 %whole, label %out, label %forget
forget:
  call void @llvm.memset.p0.i64(ptr @count.$$, i8 0, i64 {8 * CLASSES}, i1 false)
  store i64 0, ptr @kept.$$
  call void @leave.$$()
  br label %out
out:
  ret void
}}

define ptr @change.$$(ptr %context, ptr %block, i64 %size) #0 {{
entry:
  %small = icmp ult i64 %size, {SMALL}
  br i1 %small, label %plain, label %large
plain:
  %p = call ptr @realloc(ptr %block, i64 %size)
  ret ptr %p
large:
  %k = call i64 @class.$$(i64 %size)
  %full = call i64 @rounded.$$(i64 %k)
  %q = call ptr @realloc(ptr %block, i64 %full)
  ret ptr %q
}}

define i64 @held.$$(i64 %what) #0 {{
entry:
  %bytes = load i64, ptr @kept.$$
  %hits = load i64, ptr @hits.$$
  %first = icmp eq i64 %what, 0
  %r = select i1 %first, i64 %bytes, i64 %hits
  ret i64 %r
}}
"""


class _Handler(ctypes.Structure):
    """NumPy's ``PyDataMem_Handler``, version 1."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


SET_HANDLER = 304  # where NumPy's table of functions has PyDataMem_SetHandler
_address = jit.load(TEXT.__str__, TEXT)
_functions = [_address(f"{name}.$$") for name in ("take", "clear", "change", "give")]
jit.add_symbol("pullback_take", _functions[0])
jit.add_symbol("pullback_give", _functions[3])
_handler = _Handler(b"pullback", 1, None, *_functions)
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.restype, _pointer_in.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
NAME = b"mem_handler"
jit.keep_alive(_handler)  # arrays that outlive this module are freed through it, and its capsule's name is compared
jit.keep_alive(NAME)


def numpys(function: int) -> int:
    """The address of a function of NumPy's C API, by its index in the table that NumPy exports."""
    table = _pointer_in(np._core._multiarray_umath._ARRAY_API, None)  # type: ignore[attr-defined]
    return ctypes.c_void_p.from_address(table + function * 8).value or 0


def install() -> None:
    """Make this NumPy's allocator from now on, in this thread; arrays remember which one theirs came from."""
    ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(numpys(SET_HANDLER))(
        _new_capsule(ctypes.addressof(_handler), NAME, None)
    )


def empty() -> None:
    """Free all cached blocks."""
    ctypes.CFUNCTYPE(None)(_address("empty.$$"))()


def held() -> tuple[int, int]:
    """How many bytes are cached, and how many times a block was reused."""
    ask = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(_address("held.$$"))
    return ask(0), ask(1)


forks.in_child(ctypes.CFUNCTYPE(None)(_address("repair.$$")))
