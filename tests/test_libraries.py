"""``scripts/libraries.py``: what its tasks say, and when two outputs agree."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))
import libraries  # noqa: E402


def test_each_task_says_what_to_install():
    tasks = sorted(libraries.TASKS.glob("*.py"))
    assert len(tasks) > 20
    for task in tasks:
        assert libraries.requirements(task), task
        compile(task.read_text(), str(task), "exec")


def test_outputs_agree_up_to_rounding():
    assert libraries.difference("a 1.00001 [nan, 2]", "a 1.0 [nan, 2]") == ""
    assert libraries.difference("a 1.001", "a 1.0") == "`a 1.001` for `a 1.0`"
    assert libraries.difference("a 1", "b 1") and libraries.difference("1 2", "1") and libraries.difference("1", "1\n2")


def test_the_page_lists_the_tasks():
    page = (libraries.ROOT / "docs" / "libraries.md").read_text("utf-8")
    for task in libraries.TASKS.glob("*.py"):
        assert f"| {task.stem} |" in page
