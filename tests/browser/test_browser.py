"""Live pages in a real browser: true, steered by hands and keys, asking for nothing."""

import re
import shutil

import numpy as np
import pytest

import stationary as st
from tests.browser.systems import CASES, rope_of_a_hundred

BROWSER = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium here"),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


class Opened:
    """A page in a browser, and all that it asked for or complained about."""

    def __init__(self, chromium, path, **settings):
        given = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"} | settings
        self.context = chromium.new_context(**given)
        self.page = self.context.new_page()
        self.said, self.asked = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path if "://" in str(path) else path.as_uri())
        self.page.evaluate("live.ready")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.context.close()
        if not any(error):
            assert self.said == []
            assert [url for url in self.asked if not re.match("file:|blob:", url)] == []

    def seen(self, point=-1):
        """Return where on the screen a point of the system is now."""
        box = self.page.locator("#stage").bounding_box()
        x, y = self.page.evaluate(
            """point => {
                const rows = live.rows(), row = rows[rows.length - 1], view = live.view;
                const engine = new Engine(model, code);
                engine.look(row[0], row.slice(1, 1 + engine.size));
                return view.see(view.point(engine.P, view.grips.at(point)));
            }""",
            point,
        )[:2]
        return box["x"] + x, box["y"] + y


def until(page, fact):
    """Wait for a fact of the page, whose policy lets nothing be evaluated inside it for long."""
    for _ in range(200):
        if page.evaluate(fact):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never true: {fact}")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    made = {}

    def write(name):
        if name not in made:
            system, given = CASES[name]()
            made[name] = folder / f"{name}.html"
            st.live(system, made[name], **given)
        return made[name]

    return write


@pytest.mark.parametrize("name", CASES)
def test_the_page_is_true(chromium, written, name):
    system, given = CASES[name]()
    span = given.pop("span", (0.0, 10.0))
    with Opened(chromium, written(name)) as opened:
        found = np.array(opened.page.evaluate("seconds => live.run(seconds)", span[1]))
        assert abs(opened.page.evaluate("live.error()")) < 1e-9
    motion = st.simulate(system, span=span, rtol=1e-12, **given)
    end = np.concatenate([motion.q[-1], motion.v[-1]])
    size = max(np.abs(motion.q).max(), np.abs(motion.v).max())
    assert np.abs(found[: 2 * system.size] - end).max() <= 1e-9 * size


def test_dragging_sets_the_start_and_pulls_what_runs(chromium, written):
    with Opened(chromium, written("double_pendulum")) as opened:
        page, mouse = opened.page, opened.page.mouse
        assert not page.evaluate("live.playing()"), "reduced motion is not respected"
        x, y = opened.seen()
        mouse.move(x, y)
        mouse.down()
        mouse.move(x + 50, y - 40, steps=4)
        page.wait_for_timeout(400)
        mouse.up()
        assert opened.seen() == pytest.approx((x + 50, y - 40), abs=3)
        page.click("#play")
        x, y = opened.seen(0)
        mouse.move(x, y)
        mouse.down()
        mouse.move(x + 20, y, steps=2)
        page.wait_for_timeout(400)
        mouse.up()
        page.click("#play")
        rows = page.evaluate("live.rows().map(r => r[1 + 4])")
        assert np.ptp(rows) > 0, "the hand did no work"
        assert abs(page.evaluate("live.error()")) < 1e-9


def test_sliders_change_the_motion_and_links_carry_everything(chromium, written):
    with Opened(chromium, written("pendulum")) as opened:
        page = opened.page
        box = page.get_by_label("L, exact")
        box.fill("2.5")
        box.press("Enter")
        page.click("#velocities")
        end = page.evaluate("live.run(2)")
        link = page.evaluate("live.link()")
    theta, (m, L, g) = st.coordinates("theta"), st.parameters(m=1.0, L=2.5, g=9.81)
    bob = (L * st.sin(theta), -L * st.cos(theta))
    motion = st.simulate(st.particle(m, at=bob, gravity=g), span=(0, 2), start={theta: 2.0})
    assert end[0] == pytest.approx(motion.q[-1, 0], abs=1e-9)
    with Opened(chromium, link) as again:
        assert again.page.evaluate("live.run(2)") == end
        assert again.page.get_attribute("#velocities", "aria-pressed") == "true"
    with Opened(chromium, link.partition("#")[0] + "#nonsense") as other:
        assert "another page" in other.page.inner_text("#evidence")


def test_keys_scrub_and_table(chromium, written):
    with Opened(chromium, written("cart_and_pendulum")) as opened:
        page = opened.page
        page.locator("#stage").focus()
        page.keyboard.press(" ")
        page.wait_for_timeout(600)
        page.keyboard.press(" ")
        count = page.evaluate("live.rows().length")
        assert count > 3 and not page.evaluate("live.playing()")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(200)
        assert page.evaluate("live.rows().length") >= count + 1
        page.locator("#scrub").fill("1")
        page.click("#play")
        page.wait_for_timeout(300)
        page.click("#play")
        lines = page.evaluate("live.csv()").splitlines()
        assert lines[0] == "t,x,θ,x',θ',work,T,U,E"
        table = np.array([[float(x) for x in line.split(",")] for line in lines[1:]])
        assert np.all(np.diff(table[:, 0]) > 0)
        page.keyboard.press("r")
        page.wait_for_timeout(200)
        assert page.evaluate("live.rows().length") < len(table)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_phones_and_the_night(chromium, written, width, scheme, tmp_path):
    settings = {"viewport": {"width": width, "height": 844}, "color_scheme": scheme}
    with Opened(chromium, written("two_rods"), **settings, has_touch=width < 500) as opened:
        page = opened.page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        light = sum(map(int, re.findall(r"\d+", paper)[:3])) > 380
        assert light == (scheme == "light")
        small = page.evaluate(
            "[...document.querySelectorAll('.bar button')].filter(b => b.offsetParent"
            " && b.getBoundingClientRect().height < 32).length"
        )
        assert small == 0, "buttons too small for fingers"
        page.click("#compare")
        page.click("#forces")
        page.click("#numbers") if page.locator("#numbers").count() else None
        page.click("#section")
        page.click("#play")
        page.wait_for_timeout(500)
        page.click("#play")


def test_frames_are_counted(chromium, written, tmp_path):
    """How many frames a second there are is written down, not judged: a clock is no fact."""
    import sys

    rope, start = rope_of_a_hundred()
    st.live(rope, tmp_path / "rope.html", start=start, span=(0, 0.2))
    pages = {"double pendulum": written("double_pendulum"), "rope of 100": tmp_path / "rope.html"}
    for name, path in pages.items():
        with Opened(chromium, path, reduced_motion="no-preference") as opened:
            rate = 0.0
            while not rate:
                opened.page.wait_for_timeout(200)
                rate = opened.page.evaluate("live.rate()")
            print(f"{name}: {rate:.0f} frames a second", file=sys.stderr)
            assert opened.page.evaluate("live.rows().length") > 2


def test_what_cannot_move_is_told_and_can_be_undone(chromium, written):
    with Opened(chromium, written("pendulum")) as opened:
        page = opened.page
        page.click("#play")
        said = page.locator("#evidence")

        def put(name, value):
            box = page.get_by_label(f"{name}, exact")
            box.fill(value)
            box.press("Enter")

        put("L", "1.7")
        put("m", "-1")
        playwright.expect(said).to_contain_text("masses")
        assert not page.evaluate("live.playing()")
        put("m", "1")
        playwright.expect(said).not_to_contain_text("masses")
        count = page.evaluate("live.rows().length")
        page.click("#play")
        until(page, f"live.rows().length > {count + 3}")
        # What the sliders did is work, and no error.
        assert abs(page.evaluate("live.error()")) < 1e-9


def test_two_starts_are_seen_at_one_time(chromium, tmp_path):
    """A wall that one of two starts meets needs many steps: the other one waits."""
    x = st.coordinates("x")
    wall = st.System(kinetic=x.dot**2 / 2, potential=x**2 / 2 + 1e-3 * st.exp(40 * (x - 1)))
    st.live(wall, tmp_path / "wall.html", start={x: 0.3})
    with Opened(chromium, tmp_path / "wall.html") as opened:
        page = opened.page
        page.click("#compare")
        page.evaluate("live.settings.twin = [-1.5, 0, 0]; live.restart()")
        page.click("#play")
        until(page, "live.rows().length > 60")
        page.click("#play")
        page.wait_for_timeout(200)
        page.locator("#scrub").fill("30")
        main, twin = page.evaluate("live.times()")
        assert main == pytest.approx(twin, abs=0.05)


@pytest.mark.parametrize("policy", ["", "default-src 'unsafe-inline'; worker-src 'none'"])
def test_panels_move_in_frames_of_other_pages(chromium, written, tmp_path, policy):
    """Two in one page, also where that page forbids workers."""
    from html import escape

    inside = escape(written("pendulum").read_text(encoding="utf-8"), quote=True)
    frame = f'<iframe sandbox="allow-scripts" style="width:99%;height:800px" srcdoc="{inside}">'
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">' if policy else ""
    path = tmp_path / "around.html"
    path.write_text(f"<!doctype html>{head}{frame}</iframe>{frame}</iframe>", encoding="utf-8")
    # What is out of sight gets no frames.
    page = chromium.new_context(viewport={"width": 1280, "height": 1700}).new_page()
    page.goto(path.as_uri())
    for panel in page.frames[1:]:
        until(panel, "live.rows().length > 10")
        assert abs(panel.evaluate("live.error()")) < 1e-9
    page.context.close()


def test_microseconds_are_watched_at_their_own_pace(chromium, tmp_path):
    q, (L, C) = st.coordinates("q"), st.parameters(L=1e-3, C=1e-6)
    circuit = st.System(kinetic=L * q.dot**2 / 2, potential=q**2 / (2 * C))
    st.live(circuit, tmp_path / "circuit.html", start={q: 1e-6}, span=(0, 1e-3))
    with Opened(chromium, tmp_path / "circuit.html") as opened:
        page = opened.page
        assert page.inner_text("#speed") == "× 1/10000"
        page.click("#step")
        until(page, "live.rows().length > 1")
        assert float(page.inner_text("#clock").split()[2]) > 0
        page.click("#faster")
        assert page.inner_text("#speed") == "× 1/5000"
