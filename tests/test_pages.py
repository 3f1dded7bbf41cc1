"""The code on the site's pages is run, and prints what they show: ``python tests/test_pages.py`` writes it there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
if __name__ == "__main__":
    sys.path[0] = str(ROOT)  # and not this folder, whose `typing` is not Python's

import pytest  # noqa: E402

import pullback as torch  # noqa: E402
from tests.pages import outputs, with_outputs  # noqa: E402

PAGES = sorted(
    p
    for folder in ("start", "understand", "how-to", "errors", "errors/findings")
    for p in ROOT.glob(f"docs/{folder}/*.md")
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_code_prints_what_the_page_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    for printed, shown in outputs(page.read_text("utf-8"), page.name):
        assert printed.rstrip() == shown.rstrip()


def test_notebooks_hold_the_code_of_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs/_ext"))
    from notebooks import INSTALL, PAGES, notebook

    assert len(PAGES) == 8 and all((ROOT / "docs" / name).exists() for name in PAGES)
    for name in PAGES:
        page = (ROOT / "docs" / name).read_text("utf-8")
        cells = notebook(page)["cells"]
        code = [c["source"] for c in cells if c["cell_type"] == "code"]
        shown = [out["text"] for c in cells for out in c.get("outputs", [])]
        assert code == [INSTALL, *[b.rstrip() for b in re.findall(r"(?ms)^```python\n(.*?)^```", page)]]
        assert shown == re.findall(r"(?ms)^```text\n(.*?)^```", page)


if __name__ == "__main__":
    for page in PAGES if not sys.argv[1:] else [Path(name).resolve() for name in sys.argv[1:]]:
        text = page.read_text("utf-8")
        for _ in range(2):  # output names lines, which new output moves
            torch.manual_seed(0)
            text = with_outputs(text, page.name)
        page.write_text(text, "utf-8", newline="\n")
