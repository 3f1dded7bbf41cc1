"""The native thread pool: ``pullback_share(task, slots, n, grain)`` runs items 0 to n of a task on several threads.

A job is cut into chunks, and an atomic counter hands them out. The caller takes chunks, too, so a worker that is late,
asleep or (in a forked child) gone is never waited for, only one that is at work. Workers spin for about a millisecond
until the next job, then sleep. One job runs at a time: a second caller (from another Python thread, or from inside a
task) does its job alone.

Chunks depend on the number of threads, results do not: every item is computed by itself.
"""

from __future__ import annotations

import ctypes

from ...base import forks
from . import jit

# How often a worker looks for the next job before it sleeps: about a millisecond, longer than Python takes between two
SPINS = 30_000
AT_ONCE = 4  # chunks a thread, for load balance

POOL = """
@ticket.$$ = internal global i64 0, align 64
@finished.$$ = internal global i64 0, align 64
@generation.$$ = internal global i64 0, align 64
@asleep.$$ = internal global i64 0, align 64
@busy.$$ = internal global i64 0, align 64
@threads.$$ = internal global i64 1, align 64
@task.$$ = internal global ptr null, align 64
@slots.$$ = internal global ptr null
@items.$$ = internal global i64 0
@chunk.$$ = internal global i64 1
@chunks.$$ = internal global i64 0
@mutex.$$ = internal global [128 x i8] zeroinitializer, align 64
@condition.$$ = internal global [128 x i8] zeroinitializer, align 64
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(ptr)
declare i32 @sched_yield()

define internal void @breathe.$$(i64 %count) #0 {
entry:
  PAUSE
  %some = and i64 %count, 511
  %long = icmp eq i64 %some, 0
  br i1 %long, label %yield, label %out
yield:
  %y = call i32 @sched_yield()
  br label %out
out:
  ret void
}

define internal void @work.$$() #0 {
entry:
  br label %draw
draw:
  %t = atomicrmw sub ptr @ticket.$$, i64 1 acq_rel
  %mine = icmp sgt i64 %t, 0
  br i1 %mine, label %do, label %out
do:
  %task = load ptr, ptr @task.$$
  %slots = load ptr, ptr @slots.$$
  %n = load i64, ptr @items.$$
  %chunk = load i64, ptr @chunk.$$
  %chunks = load i64, ptr @chunks.$$
  %i = sub i64 %chunks, %t
  %from = mul i64 %i, %chunk
  %next = add i64 %from, %chunk
  %inside = icmp slt i64 %next, %n
  %to = select i1 %inside, i64 %next, i64 %n
  call void %task(ptr %slots, i64 %from, i64 %to)
  %d = atomicrmw add ptr @finished.$$, i64 1 release
  br label %draw
out:
  ret void
}

define internal ptr @worker.$$(ptr %argument) #0 {
entry:
  %number = ptrtoint ptr %argument to i64
  br label %idle
idle:
  %seen = phi i64 [ 0, %entry ], [ %now, %go ], [ %now, %skip ]
  br label %spin
spin:
  %count = phi i64 [ 0, %idle ], [ %more, %again ]
  %g = load atomic i64, ptr @generation.$$ acquire, align 8
  %called = icmp ne i64 %g, %seen
  br i1 %called, label %check, label %again
again:
  %more = add i64 %count, 1
  call void @breathe.$$(i64 %more)
  %on = icmp ult i64 %more, SPINS
  br i1 %on, label %spin, label %sleep
sleep:
  %a = call i32 @pthread_mutex_lock(ptr @mutex.$$)
  %b = atomicrmw add ptr @asleep.$$, i64 1 seq_cst
  br label %look
look:
  %g2 = load atomic i64, ptr @generation.$$ seq_cst, align 8
  %woken = icmp ne i64 %g2, %seen
  br i1 %woken, label %wake, label %wait
wait:
  %c = call i32 @pthread_cond_wait(ptr @condition.$$, ptr @mutex.$$)
  br label %look
wake:
  %e = atomicrmw sub ptr @asleep.$$, i64 1 seq_cst
  %f = call i32 @pthread_mutex_unlock(ptr @mutex.$$)
  br label %check
check:
  %now = phi i64 [ %g, %spin ], [ %g2, %wake ]
  %limit = load i64, ptr @threads.$$
  %wanted = icmp slt i64 %number, %limit
  br i1 %wanted, label %go, label %skip
go:
  call void @work.$$()
  br label %idle
skip:
  br label %idle
}

define void @share.$$(ptr %task, ptr %slots, i64 %n, i64 %grain) #0 {
entry:
  %threads = load i64, ptr @threads.$$
  %serial = icmp sle i64 %threads, 1
  br i1 %serial, label %alone, label %try
try:
  %claim = cmpxchg ptr @busy.$$, i64 0, i64 1 acq_rel monotonic
  %free = extractvalue { i64, i1 } %claim, 1
  br i1 %free, label %start, label %alone
alone:
  call void %task(ptr %slots, i64 0, i64 %n)
  ret void
start:
  %parts = mul i64 %threads, AT_ONCE
  %p1 = add i64 %n, %parts
  %p2 = sub i64 %p1, 1
  %even = sdiv i64 %p2, %parts
  %coarse = icmp sgt i64 %even, %grain
  %chunk = select i1 %coarse, i64 %even, i64 %grain
  %n1 = add i64 %n, %chunk
  %n2 = sub i64 %n1, 1
  %chunks = sdiv i64 %n2, %chunk
  store ptr %task, ptr @task.$$
  store ptr %slots, ptr @slots.$$
  store i64 %n, ptr @items.$$
  store i64 %chunk, ptr @chunk.$$
  store i64 %chunks, ptr @chunks.$$
  store atomic i64 0, ptr @finished.$$ monotonic, align 8
  store atomic i64 %chunks, ptr @ticket.$$ release, align 8
  %g = atomicrmw add ptr @generation.$$, i64 1 seq_cst
  %s = load atomic i64, ptr @asleep.$$ seq_cst, align 8
  %sleepers = icmp ne i64 %s, 0
  br i1 %sleepers, label %wake, label %run
wake:
  %a = call i32 @pthread_mutex_lock(ptr @mutex.$$)
  %b = call i32 @pthread_cond_broadcast(ptr @condition.$$)
  %c = call i32 @pthread_mutex_unlock(ptr @mutex.$$)
  br label %run
run:
  call void @work.$$()
  br label %join
join:
  %count = phi i64 [ 0, %run ], [ %more, %hold ]
  %d = load atomic i64, ptr @finished.$$ acquire, align 8
  %done = icmp eq i64 %d, %chunks
  br i1 %done, label %out, label %hold
hold:
  %more = add i64 %count, 1
  call void @breathe.$$(i64 %more)
  br label %join
out:
  store atomic i64 0, ptr @busy.$$ release, align 8
  ret void
}

define i64 @start.$$(i64 %from, i64 %to) #0 {
entry:
  %thread = alloca ptr
  %first = icmp eq i64 %from, 1
  br i1 %first, label %init, label %head
init:
  store i64 0, ptr @busy.$$
  store i64 0, ptr @asleep.$$
  store i64 0, ptr @ticket.$$
  store i64 0, ptr @generation.$$
  %a = call i32 @pthread_mutex_init(ptr @mutex.$$, ptr null)
  %b = call i32 @pthread_cond_init(ptr @condition.$$, ptr null)
  br label %head
head:
  %i = phi i64 [ %from, %entry ], [ %from, %init ], [ %i1, %started ]
  %more = icmp slt i64 %i, %to
  br i1 %more, label %body, label %out
body:
  %number = inttoptr i64 %i to ptr
  %failed = call i32 @pthread_create(ptr %thread, ptr null, ptr @worker.$$, ptr %number)
  %ok = icmp eq i32 %failed, 0
  br i1 %ok, label %started, label %out
started:
  %handle = load ptr, ptr %thread
  %d = call i32 @pthread_detach(ptr %handle)
  %i1 = add i64 %i, 1
  br label %head
out:
  ret i64 %i
}

define void @limit.$$(i64 %n) #0 {
entry:
  store i64 %n, ptr @threads.$$
  ret void
}
"""


def _text() -> str:
    x86 = jit.TRIPLE.startswith("x86")
    pause = "void @llvm.x86.sse2.pause()" if x86 else "void @llvm.aarch64.hint(i32 1)"
    declared = f"declare {pause.replace('i32 1', 'i32')}\n"
    return declared + POOL.replace("PAUSE", f"call {pause}").replace("SPINS", str(SPINS)).replace(
        "AT_ONCE", str(AT_ONCE)
    )


_address = jit.load(_text, "threads")
jit.add_symbol("pullback_share", _address("share.$$"))
_started = 1  # threads there are, with the caller's
_wanted = 1


def set_count(n: int) -> None:
    """Use at most so many threads, the caller's included; workers are started as they are first wanted."""
    global _started, _wanted
    with jit.lock:
        if n > _started:
            start = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(_address("start.$$"))
            _started = start(_started, n)
        _wanted = n
        ctypes.CFUNCTYPE(None, ctypes.c_int64)(_address("limit.$$"))(min(n, _started))


def count() -> int:
    """How many threads a job may use."""
    return min(_wanted, _started)


def _in_child() -> None:
    """There are no workers: start them anew."""
    global _started
    if _started > 1:
        _started = 1
        set_count(_wanted)


forks.in_child(_in_child)
