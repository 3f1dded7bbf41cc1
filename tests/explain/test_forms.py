"""The forms that an explanation takes: text, JSON, DOT, Mermaid, SVG, notebooks, the command line."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from click.testing import CliRunner

import pullback as torch
from pullback import explain, nn
from pullback.cli.main import commands
from pullback.explain.draw import drawing

F = nn.functional
SCHEMA = json.loads(Path(explain.__file__).with_name("schema.json").read_text(encoding="utf-8"))


def explained():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 3))
    with torch.explain() as e:
        loss = F.cross_entropy(net(torch.randn(4, 10)), torch.tensor([0, 1, 2, 0]))
        loss.backward()
    return e


def long():
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(100)])
    with torch.explain() as e:
        model(torch.randn(2, 4)).sum().backward()
    return e


def conforms(value, schema, where="$"):
    """As much of JSON Schema as schema.json uses."""
    if "$ref" in schema:
        return conforms(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], where)
    if "anyOf" in schema:
        errors = []
        for option in schema["anyOf"]:
            try:
                return conforms(value, option, where)
            except AssertionError as error:
                errors.append(error)
        raise AssertionError(f"{where}: {errors}")
    if "const" in schema:
        assert value == schema["const"], where
    if "enum" in schema:
        assert value in schema["enum"], where
    types = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
        "null": type(None),
    }
    if "type" in schema:
        wanted = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        assert any(isinstance(value, types[t]) and not (isinstance(value, bool) and t != "boolean") for t in wanted), (
            where,
            value,
        )
    if isinstance(value, dict):
        assert set(schema.get("required", ())) <= set(value), where
        for key, v in value.items():
            assert key in schema["properties"] or schema.get("additionalProperties", True), f"{where}.{key}"
            conforms(v, schema["properties"].get(key, {}), f"{where}.{key}")
    if isinstance(value, list) and "items" in schema:
        for i, v in enumerate(value):
            conforms(v, schema["items"], f"{where}[{i}]")
    return None


def test_json_follows_the_schema():
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    values, _ = (x.log() * x).max(0)
    z = torch.tensor([1 + 2j], requires_grad=True)
    sparse = nn.Embedding(5, 2, sparse=True)(torch.tensor([1, 3])).sum()
    for e in (explained(), long(), values.explain(), torch.explain(z * 2, torch.ones_like(z)), sparse.explain()):
        data = json.loads(e.to_json())
        conforms(data, SCHEMA)
        assert data["format"] == 1 and len(data["steps"]) == len(e.steps)


def test_text_fits_in_80_columns():
    for e in (explained(), long()):
        text = str(e)
        assert max(map(len, text.splitlines())) <= 80
    text = str(explained())
    for part in (
        "Backward pass 1: 4 steps",
        "loss  seed (left out: 1) 1 → #1",
        "dW = gᵀ @ x",
        "→ net.0.weight",
        "net.2 ──",
        "test_forms.py:",
    ):
        assert part in text


def test_long_passes_are_cut_in_the_text():
    assert "and 141 more steps" in str(long())


def test_dot_and_mermaid():
    e = explained()
    dot = e.to_dot()
    assert dot.startswith("digraph") and dot.count("shape=box") == 5 and dot.count("shape=ellipse") == 4
    mermaid = e.to_mermaid()
    assert mermaid.startswith("flowchart TD") and '"net.0.weight<br>shape 8×10"' in mermaid
    assert long().to_mermaid().count("step") <= 110  # by module


def test_svg():
    pytest.importorskip("fast_sugiyama")
    root = ElementTree.fromstring(explained().to_svg())
    names = ["".join(t.itertext()) for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "net.0.weight" in names and "loss" in names
    paths = [p for p in root.iter("{http://www.w3.org/2000/svg}path") if p.get("class") in ("data", "gradient")]
    assert len(paths) == 2 * 8
    at = {t.text: float(t.get("y")) for t in root.iter("{http://www.w3.org/2000/svg}text")}
    assert (
        at["net.0.weight"] < at["#4 linear 10→8"] < at["#3 relu"] < at["#2 linear 8→3"] < at["loss"]
    )  # data flows down


def test_the_picture_without_its_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "fast_sugiyama", None)
    with pytest.raises(ModuleNotFoundError) as caught:
        explained().to_svg()
    assert "pullback[explain]" in "".join(caught.value.__notes__)


@pytest.mark.parametrize("name", ["x.html", "x.json", "x.dot", "x.mmd", "x.txt"])
def test_save(tmp_path, name):
    explained().save(tmp_path / name)
    assert (tmp_path / name).stat().st_size > 100


def test_save_as_what():
    with pytest.raises(ValueError, match=r"\.html, "):
        explained().save("x.pdf")


def test_notebooks():
    e = explained()
    assert e._repr_html_().startswith("<iframe srcdoc=") and e._mime_()[0] == "text/html"
    assert set(e._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_marimo_shows_the_page():
    formatting = pytest.importorskip(
        "marimo._output.formatting", reason="how marimo shows things, where it is installed"
    )
    shown = formatting.try_format(explained())
    assert shown.mimetype == "text/html" and shown.data.startswith("<iframe srcdoc=")


def test_the_page_needs_no_network_and_keeps_its_data_in():
    x = torch.tensor(1.0, requires_grad=True)
    y = x * 2  # </script><b>
    html = y.explain().to_html()
    assert "src=" not in html.split("<script")[0] and 'href="http' not in html
    assert html.count("</script>") == 3 and "</script><b>" not in html


# --- the command line

PROGRAM = """\
import torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
for k in range(3):
    loss = (x * k).sum()
    loss.backward()
print("done")
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "pullback", "explain", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**__import__("os").environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "80"},
        timeout=120,
    )


def test_an_unmodified_program(program, tmp_path):
    done = run(program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("done\n") and "Backward pass 3" in done.stdout and "da = g · 2" in done.stdout
    out = tmp_path / "x.json"
    done = run("--out", out, "--step", "2", program)
    assert done.returncode == 0 and "backward pass 2 of 3" in done.stderr
    data = json.loads(out.read_text(encoding="utf-8"))
    assert (
        data["pass"] == 2 and data["leaves"][0]["name"] == "x" and data["leaves"][0]["gradient"]["values"] == [1.0, 1.0]
    )
    assert data["line"] == 5


def test_options_behind_the_program(tmp_path):
    program, out = tmp_path / "program.py", tmp_path / "x.json"
    program.write_text(PROGRAM + "import sys; print(sys.argv[1:])\n", encoding="utf-8")
    done = run(program, "--out", out, "--step=2", "--steps", "3", "--step", "1")
    assert done.returncode == 0 and "backward pass 2 of 3" in done.stderr and out.exists()
    assert "['--steps', '3', '--step', '1']" in done.stdout
    assert "--step stands behind the program's own arguments" in done.stderr
    done = run(program, "--", "--out", "its own")
    assert (
        done.returncode == 0
        and "['--out', 'its own']" in done.stdout
        and "stands behind" not in done.stderr
        and "Backward pass 3" in done.stdout
    )


def test_an_unknown_form_is_refused_before_the_program_runs(program, tmp_path):
    done = run("--out", tmp_path / "x.pdf", program)
    assert done.returncode == 2 and "can't tell a format from '.pdf'" in done.stderr and "done" not in done.stdout


def test_a_program_without_such_a_pass(program, tmp_path):
    done = run("--step", "9", program)
    assert done.returncode == 1 and "3 backward passes" in done.stderr
    other = tmp_path / "other.py"
    other.write_text("print(1)", encoding="utf-8")
    done = run(other)
    assert done.returncode == 1 and "no backward pass" in done.stderr


BAD = """
import pullback as torch
w = torch.zeros(3, requires_grad=True)
for step in range(5):
    w.grad = None
    (w * w).sum().sqrt().backward()
    w.data -= 0.1 * w.grad
"""


def test_the_first_bad_pass_is_explained_unless_another_is_asked_for(tmp_path):
    path, out = tmp_path / "bad.py", tmp_path / "x.json"
    path.write_text(BAD, encoding="utf-8")
    done = run(path)
    assert "Backward pass 1" in done.stdout and "makes inf first in" in done.stdout and "[nan, nan, nan]" in done.stdout
    done = run("--out", out, "--step", "first-bad", path)  # the findings are in the terminal, too
    assert "error: The backward pass makes inf first in" in done.stderr and "backward pass 1 of 5" in done.stderr
    done = run("--step", "last", path)
    assert "Backward pass 5" in done.stdout and "Pass 1 was the first that was not finite" in " ".join(
        done.stdout.split()
    )


def test_findings_of_several_passes_are_not_lost(tmp_path):
    path = tmp_path / "missing.py"
    path.write_text(
        "import pullback as torch\nnet = torch.nn.Linear(2, 1)\n"
        "optimizer = torch.optim.SGD(net.parameters(), lr=0.01)\n"
        "for _ in range(4):\n    net(torch.ones(3, 2)).sum().backward()\n    optimizer.step()\n",
        encoding="utf-8",
    )
    assert "zero_grad() is missing" in " ".join(run(path).stdout.split())
    assert "none was bad" in run("--step", "first-bad", path).stderr


def test_a_program_that_fails_is_explained_up_to_there(tmp_path):
    path = tmp_path / "fails.py"
    path.write_text(PROGRAM + "raise ValueError('late')\n", encoding="utf-8")
    done = run(path)
    assert done.returncode == 1 and "ValueError: late" in done.stderr and "Backward pass 3" in done.stdout


def test_help():
    result = CliRunner().invoke(commands(), ["explain", "--help"])
    assert result.exit_code == 0 and "--out" in result.output and "--step" in result.output


def test_a_recurrent_network_is_drawn_in_time():
    """What is called again and again has a box each time, and no arrow leads back."""
    from .models import lstm

    boxes, links = drawing(lstm())
    assert [box.lines for box in boxes].count(("model", "11 steps")) == 5
    order = [box.steps[0].number if box.steps else None for box in boxes]
    steps = [(order[k.source], order[k.target]) for k in links if order[k.source] and order[k.target]]
    assert len(steps) > 10 and all(a > b for a, b in steps)
    assert any(box.lines == ("#61 linear 11→32", "model.gates  shape 4×32") for box in boxes)


def test_thousands_of_modules_are_drawn_in_runs():
    from .models import deep

    torch.manual_seed(0)
    e = deep(100)
    boxes = e.to_dot().count("shape=box3d")
    assert 10 < boxes <= 60 and "model.99" in e.to_dot()
    assert "more leaves" in str(e) and len(str(e).splitlines()) < 500


def test_nothing_seen_has_its_form_too():
    e = torch.explain()
    assert str(e) == repr(e) == e._repr_mimebundle_()["text/plain"] and "nothing seen yet" in e._repr_html_()
