"""The playground in a real browser.

Needs playwright, a Chromium, and in the folder PULLBACK_PYODIDE_FOLDER Pyodide's core with NumPy's wheel.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="the playground is tested where playwright is installed")
PYODIDE = os.environ.get("PULLBACK_PYODIDE_FOLDER")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(not (PYODIDE and CHROMIUM), reason="no Chromium, or no Pyodide at hand")
DOCS = Path(__file__).parent.parent / "docs"
SLOW = 240_000  # milliseconds


class Quiet(SimpleHTTPRequestHandler):
    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript", ".wasm": "application/wasm"}

    def log_message(self, *args: Any) -> None:
        pass


def trust_numpy(folder: Path) -> None:
    """Pyodide checks what it loads: tell it the wheel that is there, which need not be that of its distribution."""
    lock = folder / "pyodide-lock.json"
    packages = json.loads(lock.read_text("utf-8"))
    (wheel,) = folder.glob("numpy-*.whl")
    packages["packages"]["numpy"].update(file_name=wheel.name, sha256=hashlib.sha256(wheel.read_bytes()).hexdigest())
    lock.unlink()  # a link
    lock.write_text(json.dumps(packages), "utf-8")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Any:
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        from playground import assemble
    finally:
        sys.path.pop(0)
    folder = tmp_path_factory.mktemp("site")
    assemble(DOCS, folder / "playground", "../pyodide/")
    (folder / "pyodide").mkdir()
    for path in Path(PYODIDE or "").resolve().iterdir():
        (folder / "pyodide" / path.name).symlink_to(path)
    trust_numpy(folder / "pyodide")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/playground/index.html"
    server.shutdown()
    server.server_close()


@pytest.fixture
def page(address: str) -> Any:
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(SLOW)
        page.problems = []
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.goto(address)
        page.wait_for_selector("html[data-ready]", state="attached")
        yield page
        assert page.problems == []
        browser.close()


def status(page: Any, text: str) -> None:
    page.wait_for_function("text => document.getElementById('status').textContent === text", arg=text)


def write(page: Any, program: str) -> None:
    page.click(".cm-content")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(program)


def test_programs_run_are_explained_stopped_and_shared(page: Any) -> None:
    status(page, "Ready")
    assert page.locator("#programs option").count() >= 10
    page.select_option("#programs", "2")  # a vector loss with its seed
    page.click("#run")
    status(page, "Done")
    assert "4" in page.inner_text("#output")
    frame = page.frame_locator("#explanation")
    frame.locator("html[data-ready]").wait_for(state="attached")

    write(page, "import torch\nx = torch.ones(2, requires_grad=True)\n(x * 2).backward()\n")
    page.click("#run")
    status(page, "Ended in an error")
    output = page.inner_text("#output")
    assert "line 3: RuntimeError: grad can be implicitly created only for scalar outputs" in output
    assert page.locator(".cm-lintRange-error").inner_text() == "(x * 2).backward()"

    page.click("#share")
    page.wait_for_function("location.hash.length > 20")
    other = page.context.browser.new_page()
    other.goto(page.url)
    other.wait_for_selector("html[data-ready]", state="attached")
    assert "(x * 2).backward()" in other.inner_text(".cm-content")
    other.close()

    write(page, "print('begun')\nwhile True: pass")
    page.click("#run")
    page.wait_for_function("document.getElementById('output').textContent.includes('begun')")
    page.click("#stop")
    status(page, "Ready")


def test_it_fits_a_phone(page: Any) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
