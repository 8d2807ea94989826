"""The wheel holds everything: installed into an empty environment, the gallery runs."""

import os
import site
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

import examples
import stationary as st

ROOT = Path(__file__).resolve().parents[1]


def run(*words, **settings):
    done = subprocess.run(words, capture_output=True, text=True, timeout=500, **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Build the wheel and install it into an environment of its own; return its folder of programs.

    The dependencies are those of this environment, behind the new one: nothing is downloaded, and
    the package itself comes from the wheel.
    """
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=ROOT)
    (wheel,) = folder.glob("*.whl")
    home = folder / "empty"
    venv.create(home, with_pip=True)
    programs = home / ("Scripts" if os.name == "nt" else "bin")
    python = str(programs / "python")
    run(python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", str(wheel))
    paths = sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)})
    behind = [*site.getsitepackages(), sysconfig.get_path("purelib")]
    Path(paths, "behind.pth").write_text("\n".join(dict.fromkeys(behind)) + "\n", encoding="utf-8")
    return programs


@pytest.mark.slow
def test_the_wheel_runs_the_gallery_in_an_empty_environment(installed, tmp_path):
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"MPLBACKEND": "Agg"}
    where = run(str(installed / "python"), "-c", "import stationary; print(stationary.__file__)",
                cwd=tmp_path, env=env)  # fmt: skip
    assert where.startswith(str(installed.parent))
    command = str(installed / "stationary")
    assert run(command, "--version", cwd=tmp_path, env=env) == f"stationary {st.__version__}\n"
    listed = run(command, "gallery", "--list", cwd=tmp_path, env=env).splitlines()
    assert [line.split()[0] for line in listed] == examples.names()
    run(command, "gallery", "scotch_yoke", cwd=tmp_path, env=env)
    page = (tmp_path / "gallery" / "index.html").read_text(encoding="utf-8")
    assert "all agree" in page and 'href="scotch_yoke.html"' in page
    run(command, "new", "mine.toml", cwd=tmp_path, env=env)
    run(command, "report", "mine.toml", "-o", "mine.html", "--no-film", cwd=tmp_path, env=env)
    assert "<math" in (tmp_path / "mine.html").read_text(encoding="utf-8")
