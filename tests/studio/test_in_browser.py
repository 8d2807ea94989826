"""The studio in a real browser: a first model, mistakes, two windows, a server that comes back."""

import pytest

from tests.browser.test_browser import BROWSER, chromium
from tests.studio.test_studio import CART, started

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium here"),
    pytest.mark.xdist_group("browser"),
]


class Window:
    """A window on a studio, and what its console said."""

    def __init__(self, chromium, address):
        self.page = chromium.new_context(viewport={"width": 1400, "height": 900}).new_page()
        self.said = []
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.goto(address)

    def until(self, look, seconds=60):
        for _ in range(10 * seconds):
            if look():
                return
            self.page.wait_for_timeout(100)
        raise AssertionError(self.page.inner_text("body")[-2000:])

    def shown(self):
        """Return the page inside the studio's frame."""
        frames = [frame for frame in self.page.frames if frame != self.page.main_frame]
        return frames[0] if frames else None

    def moves(self):
        frame = self.shown()
        try:
            return frame is not None and frame.evaluate("!!window.live && live.rows().length > 3")
        except Exception:
            return False  # It is being replaced.

    def formulas(self):
        frame = self.shown()
        return 0 if frame is None else frame.locator("math").count()

    def type(self, text):
        self.page.fill("#text", text)


@pytest.fixture
def studio(tmp_path):
    (tmp_path / "cart.toml").write_text(CART, encoding="utf-8")
    running = [started(tmp_path)]
    yield running, tmp_path
    with running[-1][0] as process:
        process.kill()


def test_a_first_visit(chromium, studio):
    ((_, address),), folder = studio[0], studio[1]
    window = Window(chromium, address)
    window.until(window.moves)
    # A mistake is shown where it stands, as it is typed; what moved goes on.
    window.type(CART.replace("-m*g*l*cos(theta)", "-m*g*l*cos(thetta)"))
    window.until(lambda: "Did you mean 'theta'?" in window.page.inner_text("#message"))
    assert window.page.locator("#colors .wrong").inner_text().startswith("potential")
    window.type(CART.replace('"1 kg"', '"2 kg"'))
    window.until(lambda: not window.page.inner_text("#message"))
    window.page.get_by_role("tab", name="The derivation").click()
    window.until(lambda: window.formulas() > 3)
    # Names are completed.
    window.page.locator("#text").click()
    window.page.keyboard.press("Control+End")
    window.page.keyboard.type("\n# the")
    window.until(lambda: window.page.locator("#choices li").count() > 0)
    window.page.keyboard.press("Tab")
    assert window.page.input_value("#text").endswith("# theta")
    window.page.keyboard.press("Control+s")
    window.until(lambda: (folder / "cart.toml").read_text(encoding="utf-8").endswith("# theta"))
    assert window.said == []


def test_two_windows_do_not_overwrite_each_other(chromium, studio):
    ((_, address),), folder = studio[0], studio[1]
    first, second = Window(chromium, address), Window(chromium, address)
    for window in (first, second):
        window.until(lambda: window.page.input_value("#text") == CART)
    first.type(CART + "# first")
    first.page.click("#save")
    first.until(lambda: (folder / "cart.toml").read_text(encoding="utf-8") == CART + "# first")
    second.type(CART + "# second")
    second.page.click("#save")
    second.until(lambda: "changed elsewhere" in second.page.inner_text("#notice"))
    assert (folder / "cart.toml").read_text(encoding="utf-8") == CART + "# first"
    second.page.get_by_role("button", name="write mine over it").click()
    second.until(lambda: (folder / "cart.toml").read_text(encoding="utf-8") == CART + "# second")


def test_the_page_outlives_its_server(chromium, studio):
    running, folder = studio
    process, address = running[0]
    window = Window(chromium, address)
    window.until(window.moves)
    window.type(CART + "# not lost")
    with process:
        process.kill()
    window.until(lambda: "no server" in window.page.inner_text("#line"))
    running.append(started(folder, address.split(":")[2].partition("/")[0]))
    window.until(lambda: "cart with pendulum" in window.page.inner_text("#line"))
    assert window.page.input_value("#text") == CART + "# not lost"


def test_markup_stays_text(chromium, studio):
    ((_, address),), _ = studio[0], studio[1]
    window = Window(chromium, address)
    window.until(lambda: window.page.input_value("#text") == CART)
    bad = "<img src=x onerror=alert(1)>"
    window.page.on("dialog", lambda dialog: window.said.append(dialog.message))
    window.type(CART.replace("cart with pendulum", bad))
    window.until(lambda: bad in window.page.inner_text("#line"))
    window.until(window.moves)
    window.type(bad)
    window.until(lambda: "<img" in window.page.inner_text("#message"))
    assert window.said == [] and window.page.locator("img").count() == 0


def test_saving_by_keys_is_no_conflict_with_oneself(chromium, studio):
    """Keys inside the text, pressed again before the first answer comes."""
    running, folder = studio
    window = Window(chromium, running[-1][1])
    page = window.page
    window.until(lambda: page.input_value("#text"))
    for k in range(4):
        page.locator("#text").press("Control+End")
        page.keyboard.type(f"# {k}\n")
        page.keyboard.press("Control+s")
    window.until(lambda: (folder / "cart.toml").read_text(encoding="utf-8").endswith("# 3\n"))
    window.until(lambda: "•" not in page.inner_text("#file"))
    assert not page.locator("#notice").is_visible()
    # A file that was deleted is missed, and written again.
    (folder / "cart.toml").unlink()
    page.keyboard.type("# 4\n")
    window.until(lambda: "no longer there" in page.inner_text("#notice"))
    page.keyboard.press("Control+s")
    window.until(lambda: (folder / "cart.toml").exists())
    window.until(lambda: not page.locator("#notice").is_visible())
    assert window.said == []
