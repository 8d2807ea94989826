"""The report: one page that holds everything, and plays in a browser."""

import re
import shutil
import subprocess

import pytest

import stationary as st
from stationary.report.build import build
from stationary.report.page import anchor, html_of_markdown, math, page, page_of_markdown

ROD = """
name = "pendulum held by a rod"
about = "A bob in **Cartesian** coordinates: $x^2 + y^2 = l^2$."
coordinates = ["x", "y"]
[parameters]
m = "100 g"
l = 0.5
g = 9.81
[constraints]
rod = "norm(x, y) - l"
[[parts]]
kind = "particle"
m = "m"
at = ["x", "y"]
gravity = "g"
[start]
x = 0.3
y = -0.4
[simulate]
span = [0, 2]
[equilibria]
within = { x = [-0.6, 0.6], y = [-0.6, 0.6] }
"""


# The search for all equilibria is what takes long.
SMALL = ROD.partition("[equilibria]")[0]


@pytest.fixture(scope="module")
def report():
    return build(st.load(ROD))


def test_the_page_holds_everything_and_fetches_nothing(report):
    page = re.sub(r'xmlns(:\w+)?="[^"]*"', "", report.html)
    assert page.count('<iframe class="live"') == 1 and "const frames = [" in page
    page = re.sub(r"<iframe.*?</iframe>", "", page, flags=re.S)
    assert not re.search(r"https?://|<link|@import|src=\"(?!data:)|url\((?!data:)", page)
    for title in ("The statement", "The derivation", "Checks", "Equilibria", "Motion"):
        assert re.search(rf'<h2 id="s\d">{title}</h2>', page)
    for words in ("Forces of constraint", "Phase portrait", "The film", "The evidence"):
        assert f"<h3>{words}</h3>" in page
    assert page.count("<math") > 20 and "$" not in re.sub(
        r"<(script|style|pre).*?</\1>", "", page, flags=re.S
    )
    assert page.count('<img src="data:image/svg+xml;base64,') >= 4
    assert "const frames = [" in page and page.count("data:image/png;base64,") >= 40
    # What the page says is what the library finds.
    assert report.facts["coordinates"] == 2 and report.facts["check"]
    found = sorted((round(rest["y"], 9), rest["stable"]) for rest in report.facts["equilibria"])
    assert "The list is complete; interval subdivision" in report.html
    assert found == [(-0.5, True), (0.5, False)]
    assert report.facts["motion"]["status"] == "done" and report.facts["motion"]["R"] < 1e-12


def test_what_cannot_be_answered_is_said_in_its_place():
    text = 'coordinates = ["x"]\n[energies]\npotential = "-x^2"\n[statics]\nstart = { x = 1 }\n'
    made = build(st.load(text), film=False)
    assert '<div class="note">' in made.html and "The statement" in made.html


def test_a_system_without_positions_has_a_film_of_its_phase_portrait():
    text = 'coordinates = ["q"]\n[energies]\nkinetic = "q\'^2/2"\npotential = "q^2/2"\n'
    made = build(st.load(text + "[start]\nq = 1\n[simulate]\nspan = [0, 7]\n"))
    assert '<animate attributeName="cx"' in made.html


@pytest.mark.slow
def test_hostile_names_do_not_leave_their_place():
    text = SMALL.replace("pendulum held by a rod", "<script>alert(1)</script>").replace(
        "A bob in **Cartesian** coordinates", "<img src=x onerror=alert(1)>"
    )
    made, again = (build(st.load(text), film=False).html for _ in range(2))
    assert "<script>alert" not in made and "<img src=x" not in made
    assert made == again, "the same model gives the same page"


# -- pages ----------------------------------------------------------------------------------------


def test_mathematics_is_drawn_without_leftovers():
    latex = st.equations(st.load(ROD).system).explain()
    made = html_of_markdown(latex)
    assert "\\" not in re.sub(r"<annotation.*?</annotation>", "", made)
    assert "<mi>&</mi>" not in made and made.count('class="math"') == latex.count("$$") // 2
    assert '<mtable class="matrix">' in made


def test_dots_are_set_above_their_letter():
    assert math(r"\ddot{x}").count('<mtext class="dot">..</mtext>') == 1


def test_code_and_prices_are_not_mathematics():
    made = html_of_markdown("`a$b$c` costs 3$ and 4$.\n\n```\n$$x$$\n```\n")
    assert "<math" not in made and "$$x$$" in made


def test_headings_can_be_linked_to():
    made = page_of_markdown("t", "# A\n\n## Signs, and *more*\n")
    assert '<h2 id="signs-and-more">' in made and anchor("Signs, and more") == "signs-and-more"


# -- a real browser -------------------------------------------------------------------------------

BROWSER = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--virtual-time-budget=3000"]  # fmt: skip

# Written into the page by the test: how wide things are once everything is laid out.
MEASURE = """<script>setTimeout(() => {
  const wide = [...document.querySelectorAll("main > *")].map(e => e.getBoundingClientRect().right);
  const math = [...document.querySelectorAll("math")].filter(
    m => m.getBoundingClientRect().height > 5);
  document.body.dataset.found = JSON.stringify({
    width: innerWidth, right: Math.max(...wide), scroll: document.documentElement.scrollWidth,
    math: math.length, frame: +(document.querySelector(".film input") || {value: -1}).value,
    broken: [...document.images].filter(i => !i.naturalWidth).length,
  });
}, 1300)</script></body>"""


def measured(path, width, home):
    import html
    import json

    assert BROWSER is not None
    page = path.read_text(encoding="utf-8").replace("</body>", MEASURE)
    copy = home / "measured.html"
    copy.write_text(page, encoding="utf-8")
    done = subprocess.run(
        [BROWSER, *FLAGS, f"--user-data-dir={home / 'profile'}", f"--window-size={width},900",
         "--dump-dom", copy.as_uri()], capture_output=True, text=True, timeout=120)  # fmt: skip
    match = re.search(r'data-found="([^"]*)"', done.stdout)
    assert match, done.stderr[-2000:]
    return json.loads(html.unescape(match[1]))


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
@pytest.mark.parametrize("width", [1280, 500])
def test_the_report_fits_and_plays_in_a_browser(report, tmp_path, width):
    path = tmp_path / "report.html"
    path.write_text(report.html, encoding="utf-8")
    found = measured(path, width, tmp_path)
    assert found["scroll"] <= found["width"] and found["right"] <= found["width"]
    assert found["math"] > 20 and found["broken"] == 0
    assert found["frame"] > 0, "the film stands still"


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
@pytest.mark.parametrize("width", [700, 1010, 1100])
def test_a_long_line_of_a_program_scrolls_in_its_box_beside_a_menu(tmp_path, width):
    path, long = tmp_path / "page.html", html_of_markdown(f"words\n\n```\n{'long ' * 60}\n```")
    path.write_text(page("Page", long, aside="<a href='#'>menu</a>"), encoding="utf-8")
    seen = measured(path, width, tmp_path)
    assert seen["scroll"] <= seen["width"] and seen["right"] <= seen["width"]


def test_a_body_in_space_is_told_by_what_a_person_reads():
    model = st.load("""
rotations = ["R"]
[energies]
kinetic = "(R_omega_x^2 + R_omega_y^2)/2 + R_omega_z^2/4"
potential = "R_zz"
[start]
R = [0.8, 0.6, 0, 0]
"R.omega" = [0, 0, 20]
""")
    text = build(model, film=False).html
    assert "starts at R = (0.8, 0.6, 0, 0), R.omega = (0, 0, 20)" in text
