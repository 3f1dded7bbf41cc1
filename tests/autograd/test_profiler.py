"""The profiler counts, times, nests and prints."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pytest

import pullback


def test_operations_and_nodes_are_counted(torch: Any) -> None:
    with torch.autograd.profiler.profile() as prof:
        x = torch.ones(10, requires_grad=True)
        y = (x * 2 + 4).sum()
        y.backward()
    names = [e.name for e in prof.function_events]
    assert names.count("aten::mul") >= 1 and names.count("aten::add") >= 1 and any("MulBackward0" in n for n in names)
    assert any("AccumulateGrad" in n for n in names)
    averages = {e.key: e for e in prof.key_averages()}
    assert averages["aten::sum"].count == 1 and averages["aten::sum"].cpu_time_total > 0
    assert prof.self_cpu_time_total > 0 and prof.table() == str(prof)
    table = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=3, header="TEST")
    assert "Self CPU time total" in table and "TEST" in table and "# of Calls" in table


def test_ranges_nest(torch: Any) -> None:
    record = torch.autograd.profiler.record_function
    x = torch.randn(10)

    @record("decorated")
    def f(x: Any) -> Any:
        return x - 1

    with torch.autograd.profiler.profile() as prof:
        with record("outer"):
            y = x * 2 + 4
            with record("inner"):
                y = f(y)
        y / 1  # noqa: B018
    order = iter(e.name for e in prof.function_events)
    assert all(
        name in order for name in ("outer", "aten::mul", "aten::add", "inner", "decorated", "aten::sub", "aten::div")
    )
    outer = next(e for e in prof.function_events if e.name == "outer")
    assert outer.count == 1 and outer.self_cpu_time_total <= outer.cpu_time_total
    assert {c.name for c in outer.cpu_children} >= {"aten::mul", "aten::add", "inner"}
    loose = record("outer")
    loose.__enter__()
    with record("inner"):
        loose.__exit__(None, None, None)


def test_shapes_memory_and_traces(torch: Any, tmp_path: Any) -> None:
    with torch.autograd.profiler.profile(record_shapes=True, profile_memory=True) as prof:
        torch.nn.functional.softmax(torch.ones(3, 4), dim=1)
        torch.exp(torch.ones(100))
    exp = next(e for e in prof.function_events if e.name == "aten::exp")
    assert exp.input_shapes[0] == [100] and exp.cpu_memory_usage == 400
    assert "CPU Mem" in prof.key_averages(group_by_input_shape=True).table()
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert json.loads((tmp_path / "trace.json").read_text())


def test_averages(torch: Any) -> None:
    profiler = importlib.import_module(f"{torch.__name__}.autograd.profiler_util")
    average = profiler.FunctionEventAvg()
    average.add(profiler.FunctionEvent(id=0, node_id=0, name="foo", thread=0, start_us=10, end_us=15))
    average.add(profiler.FunctionEvent(id=1, node_id=0, name="foo", thread=0, start_us=20, end_us=30))
    average.add(average)
    assert (average.key, average.count, average.cpu_time_total, average.self_cpu_time_total, average.cpu_time) == (
        "foo",
        4,
        30,
        30,
        7.5,
    )
    assert average.device_time_total == 0


def test_children_by_time(torch: Any) -> None:
    profiler = importlib.import_module(f"{torch.__name__}.autograd.profiler_util")
    events = profiler.EventList()
    for thread, ranges in ((1, [(0, 1, 1), (1, 2, 2)]), (0, [(0, 2, 3), (1, 2, 4), (1, 3, 5)])):
        events.extend(
            profiler.FunctionEvent(id=i, node_id=0, name="", thread=thread, start_us=a, end_us=b) for a, b, i in ranges
        )
    events._populate_cpu_children()
    assert [[c.id for c in e.cpu_children] for e in events] == [[], [], [], [], [4]]


@pytest.mark.filterwarnings("ignore")
def test_newer_interface(torch: Any) -> None:
    saved: list[int] = []
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as prof:
        with torch.profiler.record_function("mine"):
            torch.ones(2, 2).exp()
    keys = [e.key for e in prof.key_averages()]
    assert "mine" in keys and "aten::exp" in keys
    steps = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    assert [steps(i).name for i in range(5)] == ["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE"]
    with torch.profiler.profile(schedule=steps, on_trace_ready=lambda p: saved.append(p.step_num)) as prof:
        for _ in range(5):
            torch.ones(2).exp()
            prof.step()
    assert len(saved) == 1


def test_off_and_other_threads() -> None:
    torch = pullback
    with torch.autograd.profiler.profile(enabled=False) as prof:
        torch.ones(2).exp()
    assert len(prof.function_events) == 0 and not torch.autograd.profiler.profiler_enabled()
