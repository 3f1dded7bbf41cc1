"""The page in a real browser: needs playwright and a Chromium."""

from __future__ import annotations

import shutil

import pytest

import pullback as torch

from .models import MODELS

playwright = pytest.importorskip(
    "playwright.sync_api", reason="the page is tested where playwright and a Chromium are installed"
)
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
READY = "html[data-ready]"


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as p:
        b = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield b
        b.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    made = {}

    def get(name):
        if name not in made:
            torch.manual_seed(0)
            made[name] = tmp_path_factory.mktemp("pages") / f"{name}.html"
            MODELS[name]().save(made[name])
        return made[name]

    return get


@pytest.fixture
def visit(browser, pages):
    opened = []

    def go(name, cpu=False, **options):
        page = browser.new_page(viewport={"width": 1280, "height": 800}, **options)
        if cpu:
            page.cpu = page.context.new_cdp_session(page)
            page.cpu.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.problems = []
        page.on("console", lambda m: page.problems.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else page.problems.append(r.url))
        page.goto(pages(name).as_uri())
        page.wait_for_selector(READY, state="attached")
        opened.append(page)
        return page

    yield go
    for page in opened:
        assert page.problems == []
        page.close()


@pytest.mark.parametrize("name", ["seed", "mlp", "cnn", "transformer", "lstm"])
def test_opens_and_steps_to_the_end_without_complaints(visit, name):
    page = visit(name)
    steps = int(page.text_content("#position").split("/")[1])
    assert page.text_content("#position") == f"0 / {steps}"
    for n in range(1, min(steps, 8) + 1):
        page.keyboard.press("ArrowRight")
        assert page.text_content("#position") == f"{n} / {steps}"
        assert page.locator(".node.current, .node.closed.current").count() == 1
        assert page.text_content("#step .step-head").startswith(f"{n} ")
        assert page.locator("#step .formula").count() >= 2
    page.keyboard.press("End")
    assert page.text_content("#position") == f"{steps} / {steps}"
    assert page.locator(".edge.gradient:not(.done)").count() == 0
    page.keyboard.press("Home")
    assert page.locator(".edge.gradient.done").count() == len(page.query_selector_all(".node.output"))


def test_a_step_shows_the_formula_the_numbers_and_the_line(visit):
    page = visit("seed")
    page.keyboard.press("ArrowRight")
    text = page.inner_text("#step")
    assert "da = g · b" in text and "1.118" in text and "0.5" in text
    assert page.inner_text("#code .line.current").strip().endswith("y = x * x")
    assert page.locator("#seed .equation").count() == 1 and "Jacobian J, 2×2" in page.inner_text("#seed")
    assert "Step 1 of 1: mul. da = g · b" in page.text_content("#announce")


def test_forward_and_backward_values_stand_side_by_side_with_numbers_in_the_formula(visit):
    page = visit("seed")
    page.keyboard.press("ArrowRight")
    sides = page.locator("#step .sides > section")
    assert sides.count() == 2
    assert "a = x" in sides.nth(0).inner_text() and "b = x, as above" in sides.nth(0).inner_text()
    assert "da = g · b = [1, 0.5] · [2, 3] = [2, 1.5]" in sides.nth(1).inner_text()
    page.click("#step .link >> nth=0")
    assert "[2, 1.5] + [2, 1.5] = [4, 3]" in page.inner_text("#step")
    boxes = page.locator(".node .small").all_text_contents()
    assert "[2, 3]" in boxes and any(text.startswith("line 1") for text in boxes)


def test_the_seed_is_live(visit):
    page = visit("seed")
    page.keyboard.press("ArrowRight")
    page.fill('.dials input[type="number"] >> nth=0', "10")
    assert "[10, 0.5] · [2, 3] = [20, 1.5]" in page.inner_text("#step")
    page.click('.node[data-id="l:x"]')
    assert "[20, 1.5] + [20, 1.5] = [40, 3]" in page.inner_text("#step")
    page.locator('.dials input[type="range"]').nth(1).fill("-1")
    assert page.locator("#seed .equation figure").nth(2).inner_text().split()[:2] == ["40", "-6"]
    page.hover("#seed .equation figure:nth-of-type(3) td >> nth=0")
    why = page.inner_text("#why")
    assert why.startswith("x.grad[0] = 10 · 4 (of y[0]) = 40; by way of step 1: 20, step 1: 20")
    page.click("text=As it was")
    assert page.locator("#seed .equation figure").nth(2).inner_text().split()[:2] == ["4", "3"]


def test_predict_first(visit):
    page = visit("seed")
    page.click("#predict")
    page.keyboard.press("ArrowRight")
    text = page.inner_text("#step")
    assert "[1, 0.5] · [2, 3]" in text and "[2, 1.5]" not in text and page.locator(".guess").count() == 2
    page.fill(".guess input >> nth=0", "1, 2")
    page.click(".guess >> nth=0 >> text=Check")
    assert "not yet" in page.inner_text(".guess >> nth=0")
    page.fill(".guess input >> nth=0", "2 1.5")
    page.click(".guess >> nth=0 >> text=Check")
    page.wait_for_function("document.querySelectorAll('.guess').length === 1")
    page.click(".guess >> text=Show")
    assert page.locator(".guess").count() == 0 and "= [2, 1.5]" in page.inner_text("#step")


def test_a_box_says_its_line_or_else_its_shape(visit):
    """The line of a step in a module of the library is the module's call, and the same for all."""
    boxes = visit("cnn").locator(".node.step .small").all_text_contents()
    assert "scalar" in boxes and "shape 4×16×5×5" in boxes and not any("loss =" in text for text in boxes)
    assert any(
        text.startswith("line 67: c = torch.sigm")
        for text in visit("lstm").locator(".node.step .small").all_text_contents()
    )


def test_the_legend_covers_nothing(visit):
    page = visit("cnn")
    picture, legend = (page.locator(name).bounding_box() for name in ("#picture", ".legend"))
    assert picture["y"] + picture["height"] <= legend["y"]


def test_slider_and_buttons(visit):
    page = visit("mlp")
    page.locator("#slider").fill("3")
    assert page.text_content("#position") == "3 / 6"
    page.click("#previous")
    assert page.text_content("#position") == "2 / 6"
    page.click("#last")
    page.click("#first")
    assert page.text_content("#position") == "0 / 6"
    page.click("#play")
    page.wait_for_function("document.getElementById('position').textContent === '1 / 6'")
    page.click("#play")


def test_clicking_a_node_goes_to_its_line_and_back(visit):
    page = visit("lstm")
    page.keyboard.press("ArrowRight")
    page.click('.node[data-id="s1"]')
    assert page.text_content("#step .step-head").startswith("1 ")
    line = page.locator("#code .line[data-steps]", has_text="torch.sigmoid(o) * torch.tanh(c)")
    line.click()
    first = page.text_content("#position")
    assert "current" in line.get_attribute("class")
    line.click()  # the line made several nodes: the next one
    assert page.text_content("#position") != first


def test_a_module_that_is_called_again_and_again_is_one_box_with_a_plot(visit):
    page = visit("cell")
    assert page.locator(".node").count() < 12
    box = page.locator(".node.closed", has_text="cell × 50")
    assert box.count() == 1 and box.locator(".spark").count() == 1
    for _ in range(6):
        page.keyboard.press("ArrowRight")  # stepping opens the call that the step is in
    assert page.locator(".node.step.current").count() == 1
    assert "lstm" in page.text_content("#step .step-head") and page.locator(".cluster .label >> text=× 50").count() == 1


def test_clicking_a_leaf(visit):
    page = visit("mlp")
    page.click('.node[data-id="l:net.4.bias"]')
    assert page.text_content("#step .step-head") == "net.4.bias"
    page.click("#leaves button >> text=net.0.weight")
    assert page.text_content("#step .step-head") == "net.0.weight"


def test_searching(visit):
    page = visit("transformer")
    page.keyboard.press("/")
    page.keyboard.type("softmax")
    assert page.locator("#results li").count() >= 2
    assert page.locator(".node.found").count() >= 1
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert "softmax" in page.text_content("#step .step-head")
    assert page.locator(".node.current").count() == 1
    page.locator("#search").fill("no such thing")
    assert page.text_content("#results") == "nothing found"


def test_closing_and_opening_modules(visit):
    page = visit("mlp")
    everything = page.locator(".node").count()
    page.click("#close-all")
    assert page.locator(".node.closed").count() == 1 and page.locator(".node").count() < everything
    page.click(".node.closed")
    page.keyboard.press("Escape")
    page.click("#open-all")
    assert page.locator(".node").count() == everything
    page.click(".cluster .label >> text=net")
    assert page.locator(".node.closed").count() == 1


def test_keyboard_and_names(visit):
    page = visit("mlp")
    page.focus('.node[data-id="s3"]')
    page.keyboard.press("Enter")
    assert page.text_content("#position") == "3 / 6"
    nameless = page.evaluate("""[...document.querySelectorAll("button, input, [role=button]")]
        .filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length)).map((e) => e.outerHTML)""")  # noqa: E501
    assert nameless == []
    assert page.locator("#picture").aria_snapshot().count("button") >= 13


@pytest.mark.parametrize(("name", "scheme"), [("seed", "light"), ("mlp", "dark"), ("transformer", "light")])
def test_no_violation_of_accessibility(visit, name, scheme):
    """By axe-core, where axe-playwright-python brings it."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")
    page = visit(name, color_scheme=scheme)
    page.keyboard.press("ArrowRight")
    found = axe.Axe().run(page).response["violations"]
    assert found == [], [(v["id"], v["nodes"][0]["html"]) for v in found]


def test_zoom_and_pan(visit):
    page = visit("mlp")
    where = lambda: page.get_attribute("#world", "transform")  # noqa: E731
    before = where()
    page.mouse.move(300, 400)
    page.mouse.wheel(0, -400)
    page.wait_for_function(f"document.getElementById('world').getAttribute('transform') !== {before!r}")
    zoomed = where()
    page.mouse.move(60, 700)
    page.mouse.down()
    page.mouse.move(160, 650, steps=4)
    page.mouse.up()
    assert where() != zoomed
    page.keyboard.press("0")
    assert where() == before


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(visit, scheme):
    page = visit("seed", color_scheme=scheme)
    brightness = lambda: page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
    )  # noqa: E731
    assert (sum(brightness()) > 380) == (scheme == "light")
    page.click("#theme")
    assert (sum(brightness()) > 380) == (scheme == "dark")


def test_prints(visit):
    page = visit("mlp")
    page.emulate_media(media="print")
    assert not page.is_visible(".controls") and page.is_visible("#picture") and page.is_visible("#code")
    assert len(page.pdf()) > 10_000
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#all-steps tbody tr").count() == 6 and page.is_visible("#all-steps")
    page.emulate_media(media="screen")
    assert not page.is_visible("#all-steps")
    assert page.locator("#code .keyword").count() > 5


def test_narrow_windows(visit):
    page = visit("mlp")
    page.set_viewport_size({"width": 420, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 421


def test_five_thousand_nodes(visit):
    page = visit("deep", cpu=True)
    metrics = {m["name"]: m["value"] for m in page.cpu.send("Performance.getMetrics")["metrics"]}
    # seconds of the processor, about 0.35: what the clock says depends on what else runs
    assert metrics["TaskDuration"] < 1
    assert page.locator(".node").count() < 120
    page.click("#open-all")
    assert page.locator(".node").count() <= 250  # more nobody reads
    scale = page.evaluate("+document.getElementById('world').getAttribute('transform').match(/scale\\((.*)\\)/)[1]")
    assert scale > 0.5  # and not all at once
    page.click("#close-all")
    page.click(".node.closed")
    assert 2 <= page.locator(".node").count() < 700
    page.keyboard.press("End")
    assert page.text_content("#position") == "5001 / 5001"
    rows = page.locator("#leaves tbody tr")
    assert rows.count() == 100
    page.click("#leaves >> text=Show all 6000 leaves")
    assert rows.count() == 6000
    page.keyboard.press("/")
    page.keyboard.type("model.500.3")
    page.keyboard.press("Enter")
    assert page.locator('.cluster[data-id="m:model.500"], .cluster[data-id="m:model.500.3"]').count() >= 1


def test_training_page(browser, tmp_path):
    from .test_training import network, train

    net = network()
    with torch.watch(net, every=1, on_finding=lambda f: None) as w:
        train(net, 30, lr=1e-4, scale=lambda k: 1e6 if k == 20 else 1.0)
    w.save(tmp_path / "w.html")
    page, problems = browser.new_page(), []
    page.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto((tmp_path / "w.html").as_uri())
    page.wait_for_selector(READY, state="attached")
    assert page.locator(".uplot canvas").count() == 4 and page.locator("#findings li").count() >= 1
    assert problems == []
    page.close()


def test_the_film_of_a_run(browser, tmp_path):
    from pullback import nn

    torch.manual_seed(0)
    net, x, y = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), torch.randn(16, 4), torch.randn(16, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with torch.explain(passes=2) as e:
        for k in range(12):
            optimizer.zero_grad()
            loss = ((net(x) - y) ** 2).mean() * (float("nan") if k == 7 else 1.0)
            loss.backward()
            if k != 7:
                optimizer.step()
    assert e.number == 8 and [p.number for p in e.kept] == [1, 8, 11, 12]
    e.save(tmp_path / "film.html")
    page, problems = browser.new_page(viewport={"width": 1280, "height": 900}), []
    page.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto((tmp_path / "film.html").as_uri())
    page.wait_for_selector(READY, state="attached")
    assert page.text_content("#title").startswith("Backward pass 8") and "pass 8 · " in page.text_content("#film-now")
    assert page.locator("#film svg").count() == 4 and page.locator("#film svg rect.broken").count() == 3
    page.locator("#film-slider").fill("3")
    assert "pass 4 · loss" in page.text_content("#film-now") and "--step 4" in page.text_content("#film-now")
    page.click("#film-kept >> text=12: last")
    page.wait_for_function("document.getElementById('title')?.textContent.startsWith('Backward pass 12')")
    page.keyboard.press("ArrowRight")
    assert page.locator("#step .formula").count() >= 2
    assert problems == []
    page.close()
