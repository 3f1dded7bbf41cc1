"""Errors and findings lead to their pages, which ``pullback errors`` prints."""

from __future__ import annotations

import ast
import io
import re
import sys
import tomllib
from pathlib import Path

import click
import pytest

from pullback.base.errors import no_attribute, page_of, with_notes
from pullback.cli import errors

ROOT = Path(__file__).parent.parent
PAGES = errors.pages()
FINDINGS = {name for name, page in PAGES.items() if page.parent.name == "findings"}
ERRORS = PAGES.keys() - FINDINGS - {"findings"}
SOURCES = {file: file.read_text("utf-8") for file in (ROOT / "src" / "pullback").rglob("*.py")}


def shown(name: str) -> str:
    """What the first example of a page prints, which ``test_pages.py`` compares with what it shows."""
    found = re.search(r"^```text\n(.*?)^```$", PAGES[name].read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_the_example_of_an_error_leads_to_its_page(name: str) -> None:
    assert shown(name).splitlines()[-1] == f"  More: pullback errors {name}"


@pytest.mark.parametrize("name", sorted(FINDINGS))
def test_the_example_of_a_finding_leads_to_its_page(name: str) -> None:
    leads_to = "does-not-require-grad" if name == "raised" else name
    assert shown(name).endswith(f" [pullback errors {leads_to}]\n")


def test_what_errors_lead_to_is_there() -> None:
    assert {name for text in SOURCES.values() for name in re.findall(r'\bpage="([^"]+)"', text)} == ERRORS


def test_each_kind_of_finding_has_a_page() -> None:
    words, kinds = set(), set()
    for file, text in SOURCES.items():
        for node in ast.walk(ast.parse(text)) if "explain" in file.parts else ():
            if isinstance(node, ast.Constant):
                words.add(node.value)
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                function = getattr(node.func, "attr", getattr(node.func, "id", ""))
                kinds |= {node.args[0].value} if function in ("about", "Finding", "_found", "_in_a_row") else set()
    assert kinds <= FINDINGS <= words
    table = PAGES["findings"].read_text("utf-8")
    assert set(re.findall(r"\| \[`([\w-]+)`\]\(findings/\1\.md\)", table)) == FINDINGS


def test_pages_have_different_names_and_the_same_parts() -> None:
    files = [p for p in (ROOT / "docs" / "errors").rglob("*.md") if p.stem != "index"]
    assert len(files) == len(PAGES)
    for name in FINDINGS:
        headings = re.findall(r"^## .*", PAGES[name].read_text("utf-8"), re.MULTILINE)
        assert headings == ["## What was measured", "## What to do"]


def test_the_page_stays_the_last_note() -> None:
    error = with_notes(with_notes(RuntimeError(), "fact", page="some-page"), "where")
    assert error.__notes__ == ["  fact", "  where", "  More: pullback errors some-page"]
    assert (page_of(error), page_of(RuntimeError()), page_of(with_notes(RuntimeError(), "fact"))) == (
        "some-page",
        "",
        "",
    )


def test_a_missing_name_knows_its_module() -> None:
    error = no_attribute("pullback", "tensr")
    assert (error.name, error.obj) == ("tensr", sys.modules["pullback"])


def test_a_wheel_has_the_pages_where_the_command_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert errors.folder() == ROOT / "docs" / "errors" and "docs/errors" in wheel["only-include"]
    folder = tmp_path / wheel["sources"]["docs/errors"]
    folder.mkdir(parents=True)
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "pullback" / "cli" / "errors.py"))
    assert errors.folder() == folder


def test_links_become_commands_or_words() -> None:
    text = errors.readable(PAGES["nan"])
    assert "Where NaNs come from has more" in text
    assert "the error of anomaly detection (`pullback errors nan-in-backward`)" in text
    text = errors.readable(PAGES["findings"])
    assert "| `nan` |" in text and "toctree" not in text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_it_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())
    errors.show("no-cuda")
    got = sys.stdout.getvalue()  # type: ignore[attr-defined]
    assert "Torch not compiled with CUDA enabled" in got and "```" not in got and "# " not in got


def test_an_unknown_name_is_refused_with_close_ones() -> None:
    with pytest.raises(click.BadParameter, match=r"no page 'scaler-outputs'\. Did you mean scalar-outputs\?"):
        errors.show("scaler-outputs")
    with pytest.raises(click.BadParameter, match="Did you mean sigmoid-twice or softmax-twice"):
        errors.show("twice")
    with pytest.raises(click.BadParameter, match=r"no page '\?'\. Without a name"):
        errors.show("?")
