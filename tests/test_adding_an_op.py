"""The code of ``docs/adding-an-op.md`` is run, prints what the page shows, and its ops pass the generic tests.

A block that begins with the name of a file is run as if it stood at the end of that file; all others are one program.
This changes modules, so it happens in a process of its own: ``python -m tests.test_adding_an_op``.
"""

from __future__ import annotations
import __future__

import importlib.util
import io
import linecache
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import pullback

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "adding-an-op.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANNOTATIONS = __future__.annotations.compiler_flag  # which every file of the package imports
FILE = re.compile(r"# (?:src/)?((?:pullback|tests)/[\w/]+)\.py\n")


def module_of(file: str) -> ModuleType:
    """The module of a file of the repository; an empty one at its place if the page adds the file."""
    name = file.replace("/", ".")
    if importlib.util.find_spec(name) is not None:
        return importlib.import_module(name)
    module = sys.modules[name] = ModuleType(name)
    module.__package__ = name.rpartition(".")[0]
    return module


def make_public(module: ModuleType) -> None:
    """What the packages do with the names that a family of ops exports."""
    for name in getattr(module, "__all__", ()):
        setattr(pullback, name, getattr(module, name))
    for name in getattr(module, "__all_functional__", ()):
        setattr(pullback.nn.functional, name, getattr(module, name))


def run(page: str) -> list[tuple[str, str]]:
    """What each block of the program printed, and the text block that follows it (or nothing)."""
    program: dict[str, Any] = {"__name__": "program"}
    linecache.cache[PAGE.name] = len(page), None, page.splitlines(keepends=True), PAGE.name
    pairs: list[tuple[str, str]] = []
    for block in BLOCK.finditer(page):
        kind, code = block.groups()
        if kind == "text":
            pairs[-1] = pairs[-1][0], code
            continue
        lines = "\n" * page.count("\n", 0, block.start(2))
        file = FILE.match(code)
        module = None if file is None else module_of(file[1])
        with redirect_stdout(io.StringIO()) as out:
            code = compile(lines + code, PAGE.name, "exec", ANNOTATIONS if module is not None else 0)
            exec(code, program if module is None else vars(module))
        if module is not None and module.__name__.startswith("pullback.ops."):
            make_public(module)
        pairs.append((out.getvalue(), ""))
    return pairs


def main() -> None:
    from .ops import samples, test_documentation, test_rules

    before, refused = len(samples.SAMPLES), len(samples.REFUSALS)
    for printed, shown in run(PAGE.read_text("utf-8")):
        assert printed.rstrip() == shown.rstrip(), f"printed:\n{printed}\nshown:\n{shown}"
    added = samples.SAMPLES[before:]
    assert added and samples.REFUSALS[refused:]
    for sample in added:
        test_rules.test_gradient_against_differences(sample)
        test_rules.test_second_order_against_differences(sample)
        test_rules.test_forward_and_reverse_are_transposes(sample)
        test_rules.test_a_batch_equals_its_examples(sample)
        test_rules.test_memory_order_does_not_matter(sample)
        test_rules.test_single_precision_stays_single(sample)
        if sample.inplace:
            test_rules.test_in_place_equals_out_of_place(sample)
    for refusal in samples.REFUSALS[refused:]:
        test_rules.test_refused(refusal)
    test_documentation.test_every_method_has_a_docstring()
    for where in test_documentation.NAMESPACES:
        test_documentation.test_every_operation_has_a_docstring_and_a_long_one_an_example(where)


@pytest.mark.skipif(not pullback.kernels.info()["running"], reason="there are no kernels here")
def test_the_page_works_and_its_ops_pass_the_generic_tests() -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PULLBACK_")}
    # no cache: it is told the package's code and not the page's
    environment |= {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "PULLBACK_CACHE": "off"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.test_adding_an_op"],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    main()
