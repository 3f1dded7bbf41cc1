"""Run tests with a page that must not be touched right behind every buffer: an access out of bounds ends the process.

    python scripts/guard_pages.py after tests/kernels tests/ops    # behind every buffer
    python scripts/guard_pages.py before tests/kernels -k softmax  # in front of it

What follows is for pytest, which prints the Python stack of a crash. Kernels run for every size
(``PULLBACK_KERNELS=always``). NumPy and the kernels' own rooms get their memory here; freed memory is unmapped, so that
a late access is found, too. Only for Linux, and for arrays that the main thread makes. A buffer takes four pages and
more, and Linux allows some 16,000 of them at once (``vm.max_map_count``).
"""

from __future__ import annotations

import ctypes
import os
import sys

os.environ["PULLBACK_KERNELS"] = "always"

import pytest

from pullback import kernels

PAGE = 4096
# A page with the sizes, one that is closed, the buffer's, one that is closed
TEXT = f"""
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @mprotect(ptr, i64, i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)

define internal ptr @placed.$$(i64 %wanted, i64 %alignment) #0 {{
  %size = call i64 @llvm.umax.i64(i64 %wanted, i64 1)
  %over = add i64 %size, {PAGE - 1}
  %whole = and i64 %over, {-PAGE}
  %total = add i64 %whole, {3 * PAGE}
  %base = call ptr @mmap(ptr null, i64 %total, i32 3, i32 34, i32 -1, i64 0)
  %address = ptrtoint ptr %base to i64
  %failed = icmp eq i64 %address, -1
  br i1 %failed, label %none, label %made
none:
  ret ptr null
made:
  %second = getelementptr i64, ptr %base, i64 1
  store i64 %total, ptr %base
  store i64 %size, ptr %second
  %front = getelementptr i8, ptr %base, i64 {PAGE}
  %data = getelementptr i8, ptr %base, i64 {2 * PAGE}
  %behind = getelementptr i8, ptr %data, i64 %whole
  %a = call i32 @mprotect(ptr %front, i64 {PAGE}, i32 0)
  %b = call i32 @mprotect(ptr %behind, i64 {PAGE}, i32 0)
  %slack = sub i64 %whole, %size
  %shift = and i64 %slack, %alignment
  %place = getelementptr i8, ptr %data, i64 %shift
  ret ptr %place
}}

define internal ptr @base.$$(ptr %block) #0 {{
  %address = ptrtoint ptr %block to i64
  %page = and i64 %address, {-PAGE}
  %start = sub i64 %page, {2 * PAGE}
  %base = inttoptr i64 %start to ptr
  ret ptr %base
}}

define ptr @take.$$(ptr %context, i64 %size) #0 {{
  %p = call ptr @placed.$$(i64 %size, i64 ARRAYS)
  ret ptr %p
}}

define ptr @room.$$(ptr %context, i64 %size) #0 {{
  %p = call ptr @placed.$$(i64 %size, i64 ROOMS)
  ret ptr %p
}}

define ptr @clear.$$(ptr %context, i64 %n, i64 %each) #0 {{
  %size = mul i64 %n, %each
  %p = call ptr @placed.$$(i64 %size, i64 ARRAYS)
  ret ptr %p
}}

define void @give.$$(ptr %context, ptr %block, i64 %size) #0 {{
  %nothing = icmp eq ptr %block, null
  br i1 %nothing, label %out, label %free
free:
  %base = call ptr @base.$$(ptr %block)
  %total = load i64, ptr %base
  %a = call i32 @munmap(ptr %base, i64 %total)
  br label %out
out:
  ret void
}}

define ptr @change.$$(ptr %context, ptr %block, i64 %size) #0 {{
  %new = call ptr @placed.$$(i64 %size, i64 ARRAYS)
  %nothing = icmp eq ptr %block, null
  br i1 %nothing, label %out, label %move
move:
  %base = call ptr @base.$$(ptr %block)
  %place = getelementptr i64, ptr %base, i64 1
  %before = load i64, ptr %place
  %count = call i64 @llvm.umin.i64(i64 %before, i64 %size)
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %block, i64 %count, i1 false)
  call void @give.$$(ptr null, ptr %block, i64 0)
  br label %out
out:
  ret ptr %new
}}
"""


def install(side: str) -> None:
    """Let NumPy, in this thread, and kernels get their memory between closed pages.

    Args:
        side: "after": buffers end where a closed page begins; "before": they begin where one ends.
    """
    assert kernels.start(), kernels.info()["reason"]
    from pullback.kernels.codegen import jit, memory

    # arrays are as aligned as their elements; rooms, like those of :mod:`memory`, to a cache line
    arrays, rooms = ("-1", "-64") if side == "after" else ("0", "0")
    address = jit.load(lambda: TEXT.replace("ARRAYS", arrays).replace("ROOMS", rooms), "guard pages", side)
    jit.add_symbol("pullback_take", address("room.$$"))
    jit.add_symbol("pullback_give", address("give.$$"))
    functions = [address(f"{name}.$$") for name in ("take", "clear", "change", "give")]
    handler = memory._Handler(b"guard pages", 1, None, *functions)
    jit.keep_alive(handler)
    capsule = memory._new_capsule(ctypes.addressof(handler), memory.NAME, None)
    ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(memory.numpys(memory.SET_HANDLER))(capsule)


def self_test() -> None:
    """A child that reads behind a buffer is killed."""
    import numpy as np

    pid = os.fork()
    if pid == 0:
        end = -1 if sys.argv[1] == "before" else 24
        os._exit(ctypes.string_at(np.zeros(3).ctypes.data + end, 1) == b"")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) < 0, "guard pages do not guard"


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ("after", "before"):
        sys.exit(__doc__)
    install(sys.argv[1])
    self_test()
    sys.exit(pytest.main(["-p", "no:cacheprovider", *sys.argv[2:]]))
