"""Draw the pictures of docs/tutorial.md anew: needs playwright and a Chromium.

python scripts/pictures.py
"""

from __future__ import annotations

import pathlib
import shutil
import sys
import tempfile

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.explain.models import MODELS  # noqa: E402

import pullback as torch  # noqa: E402

# The step that is shown, and the colours.
PAGES = {
    "seed": (1, "light"),
    "mlp": (4, "light"),
    "cnn": (5, "light"),
    "transformer": (11, "light"),
    "lstm": (5, "dark"),
}
DRAWN = "seed", "mlp"  # as SVG, too


def main() -> None:
    chromium = next(path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name)))
    out = ROOT / "docs" / "tutorial"
    with sync_playwright() as p, tempfile.TemporaryDirectory() as folder:
        browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, (step, scheme) in PAGES.items():
            torch.manual_seed(0)
            e = MODELS[name]()
            file = pathlib.Path(folder, f"{name}.html")
            e.save(file)
            if name in DRAWN:
                e.save(out / f"{name}.svg")
            page = browser.new_page(viewport={"width": 1280, "height": 760}, color_scheme=scheme)
            page.goto(file.as_uri())
            page.wait_for_selector("html[data-ready]", state="attached")
            for _ in range(step):
                page.keyboard.press("ArrowRight")
            page.wait_for_timeout(300)  # colours fade in
            page.screenshot(path=out / f"{name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
