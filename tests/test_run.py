"""``pullback run`` and ``pullback.install``: PyTorch's name, and programs run as Python runs them."""

import copy
import os
import pickle
import re
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import pullback
import pullback.nn
from pullback.cli.run import NotInPullback

SOURCE = Path(pullback.__file__).parent.parent


def python(*arguments, cwd, stdin="", flags=(), env=None):
    """Run Python with Pullback importable."""
    variables = {**os.environ, "PYTHONPATH": str(SOURCE), **(env or {})}
    command = [sys.executable, *flags, *map(str, arguments)]
    how = {"capture_output": True, "text": True, "timeout": 60}
    return subprocess.run(command, cwd=cwd, input=stdin, env=variables, **how)


def run(*arguments, **how):
    return python("-m", "pullback", "run", *arguments, **how)


def write(folder, **programs):
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text)


@pytest.fixture
def without_pytorch():
    """As if no other test had imported PyTorch."""
    names = [name for name in sys.modules if name.partition(".")[0] == "torch"]
    real = {name: sys.modules.pop(name) for name in names}
    yield
    sys.modules.update(real)


@pytest.fixture
def installed(without_pytorch):
    pullback.install()
    yield
    pullback.uninstall()


# == as Python runs them ====================================================================================
FACTS = """
import sys
main = sys.modules["__main__"]
print(__name__, __file__, __package__, __spec__ and __spec__.name, type(__loader__).__name__, __builtins__)
print(sys.argv, sys.path[0], vars(main) is globals(), sys.stdin.read())
"""
FAILS = """
def f():
    return 1 / 0

try:
    f()
except ZeroDivisionError as error:
    raise ValueError("x") from error
"""
HOOKS = """
import sys
sys.excepthook = lambda kind, value, traceback: print(kind, value, traceback.tb_lineno, traceback.tb_next)
1 / 0
"""
ALIKE = {
    "script": ["facts.py", "a", "-b", "--seed", "1", "-m"],
    "script in a folder": [Path("deep", "facts.py")],
    "folder": ["folder", "a"],
    "archive": ["archive.zip", "a"],
    "module": ["-m", "facts", "-m"],
    "package": ["-m", "package", "a"],
    "module in a package": ["-m", "package.facts", "a"],
    "code": ["-c", "import sys; print(sys.argv, repr(sys.path[0]), __name__)", "-c", "x"],
    "standard input": ["-", "a"],
    "no file": ["none.py"],
    "no module": ["-m", "none"],
    "no module in a package": ["-m", "package.none"],
    "no program in a folder": ["deep"],
    "exit code": ["-c", "import sys; sys.exit(7)"],
    "exit message": ["-c", "import sys; sys.exit('bye')"],
    "exit handler": ["-c", "import atexit; atexit.register(print, 'bye'); 1 / 0"],
    "exception": ["fails.py"],
    "exception at a call": ["-c", "import fails"],
    "exception in code": ["-c", "x = 1\n1 / x.y"],
    "interrupt": ["-c", "raise KeyboardInterrupt"],
    "syntax error": ["unreadable.py"],
    "syntax error in code": ["-c", "1 +"],
    "import error": ["-c", "import none"],
    "import error inside importlib": ["-c", "import importlib; importlib.import_module('none')"],
    "own hook": ["hooks.py"],
}


@pytest.fixture
def programs(tmp_path):
    for folder in ("deep", "folder", "package"):
        (tmp_path / folder).mkdir()
    write(tmp_path, facts=FACTS, fails=FAILS, hooks=HOOKS, unreadable="x = (1\ny = 2\n")
    write(tmp_path / "deep", facts=FACTS)
    write(tmp_path / "folder", __main__=FACTS)
    write(tmp_path / "package", __init__="", __main__=FACTS, facts=FACTS)
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("__main__.py", FACTS)
    return tmp_path


@pytest.mark.parametrize("arguments", ALIKE.values(), ids=ALIKE)
def test_a_program_runs_as_python_runs_it(programs, arguments):
    stdin = FACTS if arguments[0] == "-" else "typed"
    expected = python(*arguments, cwd=programs, stdin=stdin)
    got = run(*arguments, cwd=programs, stdin=stdin)
    assert (got.returncode, got.stdout, got.stderr) == (expected.returncode, expected.stdout, expected.stderr)


def test_a_failing_module_shows_its_own_frames_alone(programs):
    got = run("-m", "fails", cwd=programs)
    assert got.returncode == 1
    assert got.stderr.count("  File ") == got.stderr.count("fails.py") == 3


@pytest.mark.skipif(sys.platform == "win32", reason="Windows gives symbolic links to administrators only")
def test_a_symbolic_link_imports_from_where_it_points(programs):
    (programs / "link.py").symlink_to(programs / "deep" / "facts.py")
    expected, got = python("link.py", cwd=programs), run("link.py", cwd=programs)
    assert got.stdout == expected.stdout
    assert str(programs / "deep") in got.stdout


def test_a_safe_path_stays_safe(programs):
    write(programs, main="import sys; print(sys.path); import facts")
    got = run("main.py", cwd=programs, flags=["-P"])
    assert str(programs) not in got.stdout
    assert "No module named 'facts'" in got.stderr


@pytest.mark.parametrize("arguments", [[], ["-x", "script.py"], ["-m"], ["-c"]], ids=" ".join)
def test_usage(arguments, tmp_path):
    got = run(*arguments, cwd=tmp_path)
    assert (got.returncode, got.stdout) == (2, "")
    assert got.stderr.startswith("usage: python -m pullback run script.py")
    assert run("--help", cwd=tmp_path).stdout == got.stderr


# == PyTorch's name =========================================================================================
IMPORTS = """
import sys
import torch, torch.nn as nn, torch.nn.functional as F
from torch import Tensor, tensor
from torch.autograd import Function
from torch.nn import Linear, functional
import pullback
assert torch is pullback is sys.modules["torch"] is sys.modules["pullback"]
assert nn is torch.nn is pullback.nn is sys.modules["torch.nn"] is sys.modules["pullback.nn"]
assert F is functional is torch.nn.functional is sys.modules["pullback.nn.functional"]
assert Tensor is pullback.Tensor and Linear is pullback.nn.Linear and Function is pullback.autograd.Function
assert pullback.__spec__.name == "pullback" and nn.__spec__.name == nn.__name__ == "pullback.nn" and pullback.__name__ == "torch"
assert not [name for name, module in sys.modules.items() if "site-packages/torch/" in str(module)]
x = tensor([1.0, 2.0], requires_grad=True)
(x * x).sum().backward()
print(x.grad)
"""  # noqa: E501


def test_imports_give_the_same_module_objects(tmp_path):
    write(tmp_path, program=IMPORTS)
    got = run("program.py", cwd=tmp_path)
    assert (got.stdout, got.stderr) == ("tensor([2., 4.])\n", "")


def test_install_and_uninstall(without_pytorch):
    pullback.install()
    pullback.uninstall()  # both names are loaded by now
    before = dict(vars(pullback)), dict(vars(pullback.nn))
    pullback.install()
    pullback.install()
    import torch
    import torch.nn
    import torch.no_such.thing

    assert torch is pullback
    assert torch.nn is pullback.nn
    assert find_spec("torch") is pullback.__spec__
    pullback.uninstall()
    pullback.uninstall()
    assert not [name for name in sys.modules if name.partition(".")[0] == "torch"]
    assert before == (dict(vars(pullback)), dict(vars(pullback.nn)))
    assert pullback.cli.run._finder not in sys.meta_path


def test_install_refuses_beside_pytorch(without_pytorch, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", type(sys)("torch"))
    with pytest.raises(RuntimeError, match="PyTorch is already imported") as refused:
        pullback.install()
    assert "before the first `import torch`" in str(refused.value)
    pullback.uninstall()
    assert "torch" in sys.modules


NAMED = """
import inspect, pickle, torch, functorch
kinds = (torch.nn.Linear, torch.optim.Adam, torch.optim.lr_scheduler.StepLR, torch.distributions.Normal, torch.utils.data.TensorDataset,
         torch.distributions.MultivariateNormal, torch.Tensor, torch.Size, torch.nn.Parameter, torch.autograd.Function)
print(*[f"{kind.__module__}.{kind.__qualname__}" for kind in kinds], sep="\\n")
print(torch.__name__, torch.torch is torch, functorch.vmap is torch.vmap, type(torch.max(torch.ones(1, 1), 0)))
assert all(pickle.loads(pickle.dumps(kind)) is kind for kind in kinds)
assert inspect.getsource(torch.nn.Linear).startswith("class Linear(") and inspect.getmodule(torch.nn.Linear).Linear is torch.nn.Linear
assert torch.distributions.Normal(torch.zeros(2), 1.0).expand([3, 2]).mean.shape == (3, 2)
"""  # noqa: E501


def test_classes_say_that_they_are_pytorchs(tmp_path):
    write(tmp_path, program=NAMED)
    got = run("program.py", cwd=tmp_path)
    assert got.stderr == ""
    assert got.stdout.splitlines() == [
        "torch.nn.modules.linear.Linear",
        "torch.optim.adam.Adam",
        "torch.optim.lr_scheduler.StepLR",
        "torch.distributions.normal.Normal",
        "torch.utils.data.dataset.TensorDataset",
        "torch.distributions.multivariate_normal.MultivariateNormal",
        "torch.Tensor",
        "torch.Size",
        "torch.nn.parameter.Parameter",
        "torch.autograd.function.Function",
        "torch True True <class 'torch.return_types.max'>",
    ]


def test_pickles_name_classes_either_way(installed):
    from torch.nn import Linear

    assert pickle.loads(pickle.dumps(Linear)) is pullback.nn.Linear
    assert pickle.loads(b"ctorch.nn\nLinear\n.") is pullback.nn.Linear


# == child processes ========================================================================================
CHILDREN = """
import multiprocessing, subprocess, sys
import torch

def work(x):
    import torch.nn
    return torch.__name__, torch.nn.__name__, x.tolist()

if __name__ == "__main__":
    subprocess.run([sys.executable, "child.py", "script"], check=True)
    nested = "import subprocess, sys; subprocess.run([sys.executable, 'child.py', 'grandchild'])"
    subprocess.run([sys.executable, "-c", nested], check=True)
    for method in multiprocessing.get_all_start_methods():
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(method, pool.map(work, [torch.ones(2)]), flush=True)
"""
CHILD = """
import sys, torch.nn
print(sys.argv[1], torch.nn.__name__, [name for name in sys.path if name.endswith("_child")], flush=True)
"""


def test_child_processes_run_on_pullback_too(tmp_path):
    import multiprocessing

    write(tmp_path, parent=CHILDREN, child=CHILD)
    got = run("parent.py", cwd=tmp_path, flags=["-W", "ignore"])
    methods = multiprocessing.get_all_start_methods()
    assert got.stderr == ""
    assert got.stdout.splitlines() == [
        "script pullback.nn []",
        "grandchild pullback.nn []",
        *(f"{method} [('torch', 'pullback.nn', [1.0, 1.0])]" for method in methods),
    ]


def in_child(code, tmp_path, flags=(), **how):
    """What a child prints of a program that is run."""
    program = f"import subprocess, sys; subprocess.run([sys.executable, *{list(flags)}, '-c', {code!r}])"
    return run("-c", program, cwd=tmp_path, **how)


def test_a_child_loads_nothing_until_it_asks_for_torch(tmp_path):
    code = "import sys; print({'numpy', 'pullback'} & set(sys.modules)); import torch; print(torch.__name__)"
    assert in_child(code, tmp_path).stdout == "set()\ntorch\n"


def test_a_child_runs_its_own_sitecustomize(tmp_path):
    write(tmp_path, sitecustomize="print('customized')")
    path = os.pathsep.join([str(tmp_path), str(SOURCE)])
    got = in_child("import torch, sitecustomize; print(torch.__name__)", tmp_path, env={"PYTHONPATH": path})
    assert "customized\ntorch\n" in got.stdout  # before or after what the parent's own printed


def test_a_failing_sitecustomize_is_reported_as_ever(tmp_path):
    write(tmp_path, sitecustomize="import absent_module")
    path = os.pathsep.join([str(tmp_path), str(SOURCE)])
    expected = python("-c", "pass", cwd=tmp_path, env={"PYTHONPATH": path}).stderr
    assert "absent_module" in expected
    assert in_child("pass", tmp_path, env={"PYTHONPATH": path}).stderr == 2 * expected  # parent and child


def test_metadata_know_of_torch(tmp_path):
    code = "from importlib.metadata import requires, version; print(version('torch'), requires('torch'), len(version('numpy')) > 0)"  # noqa: E501
    expected = f"{pullback.__version__} None True\n"
    assert run("-c", code, cwd=tmp_path).stdout == expected
    assert in_child(code, tmp_path).stdout == expected


def test_pip_works_in_a_child(tmp_path):
    program = "import subprocess, sys; subprocess.run([sys.executable, '-m', 'pip', '--version'])"
    got = run("-c", program, cwd=tmp_path)
    assert got.stdout.startswith("pip ")
    assert got.stderr == ""


def test_an_isolated_child_is_left_alone(tmp_path):
    code = "import sys; print(len(sys.meta_path))"
    plain = python("-I", "-c", code, cwd=tmp_path).stdout
    assert in_child(code, tmp_path, flags=["-I"]).stdout == plain


# == what Pullback lacks ====================================================================================
UNGUARDED = """
import torch.no_such.thing
import torch.no_such.thing as thing
import torch.nn.no_such as inner
from torch.nn import (
    Linear,
    Gadget,
)
from torch.cuda import no_such as cuda_name
from torch.no_such.thing import Part
from torch import gadget
try:
    pass
finally:
    from torch import in_finally
try:
    from torch import among_others
except ValueError:
    pass
try:
    def later():
        from torch import inside
        return inside
except ImportError:
    pass
later()
try:
    raise ImportError
except ImportError:
    from torch import instead

def f(x: Gadget | None, y: None | Gadget, z: Gadget[int]): pass
class Mine(Gadget, torch.nn.Module): pass
assert not isinstance(1, Gadget) and isinstance("", (str, Gadget)) and not issubclass(int, Gadget)
print(repr(Gadget))
"""


def test_an_import_of_what_is_lacking_succeeds(tmp_path):
    write(tmp_path, program=UNGUARDED)
    got = run("program.py", cwd=tmp_path)
    assert got.stderr == ""
    version = pullback.cli.run.lacks("torch.nn.Gadget")
    assert got.stdout == f"<{version}, asked for at program.py:5>\n"


USES = {
    "call": "Gadget(1)",
    "attribute": "Gadget.part",
    "instance of a subclass": "type('Mine', Gadget.__mro_entries__(()), {})(1)",
    "decorator": "@Gadget\ndef f(): pass",
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_its_use_names_both_lines(use, tmp_path):
    write(tmp_path, program=f"import torch\nfrom torch.nn import Gadget\n\n{use}\n")
    got = run("program.py", cwd=tmp_path)
    name = "torch.nn.Gadget.part" if use == "Gadget.part" else "torch.nn.Gadget"
    assert got.returncode == 1
    assert got.stderr.count("  File ") == 1
    assert 'program.py", line 4, in <module>' in got.stderr
    assert f"NotInPullback: {name} is not in Pullback {pullback.version.pullback}\n" in got.stderr
    assert "  asked for at program.py:2 (the import), used at program.py:4." in got.stderr


def test_a_missing_module_fails_at_its_use(installed):
    import torch.no_such.module as module

    with pytest.raises(NotImplementedError, match=r"torch\.no_such\.module\.f is not in Pullback") as used:
        module.f(3)
    assert isinstance(used.value, NotInPullback)
    assert not hasattr(module, "f")
    assert getattr(module, "f", None) is None
    with pytest.raises(NotInPullback):
        copy.copy(module)
    with pytest.raises(ImportError, match=r"cannot import \* from torch\.no_such\.module"):
        exec("from torch.no_such.module import *")


def test_probes_find_it_absent(installed):
    import contextlib
    import importlib

    import torch
    from torch import gadget  # unguarded: stands for it here, and leaves torch as it is

    assert repr(gadget)
    assert not hasattr(torch, "gadget")
    assert getattr(torch, "gadget", 3) == 3
    assert find_spec("torch.gadget") is None
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'torch\.gadget'"):
        importlib.import_module("torch.gadget")
    with pytest.raises(ImportError):
        import torch.gadget
    with pytest.raises(ImportError):
        from torch.nn import gadget
    found = []
    try:
        import torch.widget
    except ImportError:
        found.append("module")
    try:
        from torch.nn import widget
    except (ImportError, AttributeError):
        found.append("name")
    try:
        from torch.nn.functional import widget
    except:  # noqa: E722
        found.append("bare")
    try:
        try:
            import torch.nn.widget  # noqa: F401
        finally:
            found.append("finally")
    except Exception:
        found.append("outer")
    with contextlib.suppress(ImportError):
        from torch.optim import widget  # noqa: F401

        found.append("not suppressed")
    assert found == ["module", "name", "bare", "finally", "outer"]


def test_a_guard_counts_in_the_file_that_imports_torch(tmp_path):
    """Around the import of that file it is about the file: a name that it may never use does not fail it."""
    write(
        tmp_path,
        program="try: import backend\nexcept ImportError as e: print(e)\nprint(backend.inner.torch.gadget, backend.x)",
        backend="from package import inner\ntry: from torch.gadget import part\nexcept ImportError as e: x = e",
    )
    (tmp_path / "package").mkdir()
    write(tmp_path / "package", __init__="from . import inner", inner="import torch\nimport torch.gadget")
    got = run("program.py", cwd=tmp_path)
    assert got.stderr == ""
    inner = f"package{os.sep}inner.py"
    assert got.stdout.endswith(
        f"asked for at {inner}:2> cannot import name 'part' from 'torch.gadget' (unknown location)\n"
    )


def test_a_file_is_read_once_for_its_guards(installed, monkeypatch):
    import ast

    from pullback.cli import import_statements

    parsed = []
    parse = ast.parse
    monkeypatch.setattr(import_statements.ast, "parse", lambda *args: parsed.append(args) or parse(*args))
    monkeypatch.setattr(import_statements, "_guarded", {})
    for _ in range(3):
        with pytest.raises(ImportError):
            from torch.distributed.no_such import Thing  # noqa: F401
    assert len(parsed) == 1


def test_an_attribute_that_is_lacking_is_named_at_once(installed, tmp_path):
    import torch

    with pytest.raises(AttributeError, match=r"module 'torch' has no attribute 'gadget'\n  torch\.gadget is"):
        torch.gadget  # noqa: B018
    write(tmp_path, program="import torch, torch.nn\ntorch.nn.Linea(1, 2)")
    got = run("program.py", cwd=tmp_path)
    assert got.stderr.count("  File ") == 1
    assert "module 'torch.nn' has no attribute 'Linea'" in got.stderr
    assert re.search(r"used at program.py:2. Did you mean:? '.?Linear'", got.stderr)  # 3.15: '.Linear' instead of ...


def test_submodules_need_no_import(installed):
    import torch

    sys.modules.pop("pullback.distributed.fsdp", None)
    assert isinstance(torch.distributed.fsdp.FSDPModule, type)
    assert torch.cpu.amp.autocast is not None and not hasattr(torch.distributed, "nothing")


def test_an_existing_name_is_not_hidden_by_a_module(installed):
    import torch

    with pytest.raises(ModuleNotFoundError):
        exec("import torch.Tensor")
    assert isinstance(torch.Tensor, type)
    assert not hasattr(pullback, "no_such_name")


def test_a_module_behind_a_function_of_its_name_is_found_and_stays_behind_it(installed):
    import torch
    from torch.autograd.gradcheck import GradcheckError, gradcheck
    from torch.multiprocessing.spawn import spawn
    from torch.nn.utils.weight_norm import weight_norm

    assert torch.autograd.gradcheck is gradcheck is pullback.autograd.gradcheck
    assert torch.nn.utils.weight_norm is weight_norm is pullback.nn.utils.weight_norm
    assert torch.multiprocessing.spawn is spawn
    assert issubclass(GradcheckError, RuntimeError)


def test_an_import_that_fails_for_another_reason_says_so(installed, monkeypatch, tmp_path):
    write(tmp_path, needy="import a_dependency")
    monkeypatch.setattr(pullback, "__path__", [*pullback.__path__, str(tmp_path)])
    with pytest.raises(ModuleNotFoundError, match="No module named 'a_dependency'"):
        exec("import torch.needy")
