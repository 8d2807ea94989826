"""Photograph pages in a browser for the documentation: live page, studio, gallery and report.

``make docs`` takes them anew where there are Chromium and playwright; the files kept here are shown
where there are not.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import stationary as st

BROWSER = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
SHOWN = ["double_pendulum", "rope", "credit_card", "hoop_bifurcation", "elastica", "flip_times"]


def pictures(folder: Path) -> list[Path]:
    """Take all pictures that can be taken here; return them."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return []
    if BROWSER is None:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as p:
        browser = p.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": 1180, "height": 860}).new_page()
        made = [
            taken(page, _live(Path(place)), folder / "screen-live.png", 4000),
            taken(page, _report(Path(place)), folder / "screen-report.png", 2500),
            taken(page, _gallery(Path(place)), folder / "screen-gallery.png", 1500),
            _studio(page, Path(place), folder / "screen-studio.png"),
        ]
        browser.close()
    return made


def taken(page: Any, address: str, target: Path, wait: int) -> Path:
    page.goto(address)
    page.wait_for_timeout(wait)
    page.screenshot(path=target)
    return smaller(target)


def smaller(path: Path) -> Path:
    from PIL import Image

    with Image.open(path) as image:
        image.convert("RGB").quantize(128).save(path, optimize=True)
    return path


def _example(name: str) -> Any:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from examples import load  # pyright: ignore[reportMissingImports]

    return load(name)


def _live(place: Path) -> str:
    st.live(**_example("double_pendulum").live(), path=place / "live.html")
    return (place / "live.html").as_uri()


def _report(place: Path) -> str:
    from stationary.report.build import build

    model = st.load(Path(__file__).parents[1] / "examples" / "models" / "rod.toml")
    (place / "report.html").write_text(build(model).html, encoding="utf-8")
    return (place / "report.html").as_uri()


def _gallery(place: Path) -> str:
    _example("pendulum")
    from stationary.report.gallery import show

    return show(SHOWN, place / "gallery", lambda *words: None).page.resolve().as_uri()


def _studio(page: Any, place: Path, target: Path) -> Path:
    order = [sys.executable, "-m", "stationary", "studio", "--no-open", "--port", "0"]
    home = {**os.environ, "XDG_CACHE_HOME": str(place / "cache")}
    with subprocess.Popen(order, cwd=place, stdout=subprocess.PIPE, text=True, env=home) as server:
        assert server.stdout is not None
        address = re.search(r"http://\S+", server.stdout.readline())
        assert address is not None
        page.goto(address[0])
        for _ in range(300):
            page.wait_for_timeout(200)
            frames = [frame for frame in page.frames if frame != page.main_frame]
            if frames and frames[0].evaluate("!!window.live && live.rows().length > 100"):
                break
        page.screenshot(path=target)
        server.kill()
    return smaller(target)


if __name__ == "__main__":
    for path in pictures(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent):
        print(path)
