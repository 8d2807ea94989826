"""Bounds and weighing from model files, tables of pushes and the command line."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import examples
import stationary as st
from stationary.cli import main
from stationary.model import push_file
from stationary.report.build import build
from tests.pressure.test_track import OUTLINE, recorded

BOX = Path(examples.__file__).parent / "models/box.toml"


@pytest.fixture(scope="module")
def model():
    return st.load(BOX)


def test_a_file_asks_for_bounds_and_loads(model):
    found, fit = model.ask("bounds"), model.ask("weigh")
    same = st.pressure_bounds(model.system, of="phi.dot")
    assert (found.low, found.high) == pytest.approx((same.low, same.high))
    # The loads with which the pushes of the file were made, with errors of 0.1 mm and 0.1°.
    loads = 2 * np.array([0.1, 0.2, 0.3, 0.4])
    assert fit.status == "fitted" and np.all(np.abs(fit.weights - loads) < 0.04)
    first, last = fit.centre_interval.T
    assert np.all(first <= (0, -0.008)) and np.all((0, -0.008) <= last)


def test_what_a_file_asks_is_written_and_read_again(model, tmp_path):
    st.save(model, tmp_path / "again.toml")
    text = (tmp_path / "again.toml").read_text()
    assert text.count("[[weigh.pushes]]") == 6 and "[bounds]" in text
    again = st.load(tmp_path / "again.toml")
    assert again.questions["weigh"] == model.questions["weigh"]
    assert again.questions["bounds"] == model.questions["bounds"]


def test_the_command_line_bounds_and_weighs(capsys, tmp_path):
    assert main(["bounds", str(BOX), "--json"]) == 0
    known = json.loads(capsys.readouterr().out)
    assert 0 < known["low"] < known["high"] and len(known["pressures"]) == 2
    picture = tmp_path / "loads.png"
    assert main(["weigh", str(BOX), "--json", "-o", str(picture)]) == 0
    known = json.loads(capsys.readouterr().out)
    assert sum(known["weights"]) == pytest.approx(2.0) and picture.stat().st_size > 5000
    assert main(["bounds", str(BOX), "--of", "phi.dt"]) == 2
    assert "Write theta.dot for a velocity" in capsys.readouterr().err
    assert main(["weigh", str(BOX), "--pushes", str(tmp_path / "none.csv")]) == 5


def test_sums_of_velocities_are_bounded_by_files_and_the_command_line(model, capsys, tmp_path):
    # The velocity along x of the point (0, −c) of the part.
    x, _, phi = model.system.coordinates
    plain = st.pressure_bounds(model.system, of=x.dot + 0.02 * phi.dot)
    text = BOX.read_text().partition("[weigh]")[0]
    text = text.replace("[[parts]]", '[parameters]\nc = "2 cm"\n\n[[parts]]')

    def asking(of):
        return text.replace('of = "phi.dot"', f'of = "{of}"')

    file = tmp_path / "box.toml"
    file.write_text(asking("x' + c*phi'"))
    for words in (["--of", "x.dot + 0.02*phi.dot"], ["--set", "c=20 mm"]):
        assert main(["bounds", str(file), "--json", "--set", "c=4 cm", *words]) == 0
        known = json.loads(capsys.readouterr().out)
        assert (known["low"], known["high"]) == pytest.approx((plain.low, plain.high), abs=1e-12)
    # A length times a velocity is no velocity, typed or in the file.
    mixed = "Found c*y.dot in m^2 s^-1 and x.dot in m/s."
    assert main(["bounds", str(file), "--of", "x.dot + c*y.dot"]) == 3
    assert mixed in capsys.readouterr().err
    with pytest.raises(st.StatementError, match=r"of = (.|\n)*" + re.escape(mixed)):
        st.load(asking("x.dot + c*y.dot"))


def test_a_report_tells_both(model):
    told = build(model, film=False)
    assert "Weighed by pushing" in told.html and "Whatever the pressure" in told.html
    assert told.facts["loads"] == pytest.approx(model.ask("weigh").weights.tolist())


def write(path, head, rows):
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def test_tracks_of_a_file_are_those_of_arrays(tmp_path):
    rng = np.random.default_rng(3)
    tracks = [recorded(rng, edge, 0.4, steps=8) for edge in (0, 2)]
    rows = [(k, 0.01 * i, *p, *t) for k, (poses, tip) in enumerate(tracks)
            for i, (p, t) in enumerate(zip(poses, tip))]  # fmt: skip
    file = write(tmp_path / "tracks.csv", "track,t,x,y,phi,tip_x,tip_y", rows)
    pushes = st.Push.from_csv(file, outline=OUTLINE)
    plain = [p for poses, tip in tracks for p in st.Push.from_track(poses, tip, outline=OUTLINE)]
    assert len(pushes) == len(plain) and pushes.told.count("pushes of about") == 2
    for a, b in zip(pushes, plain):
        np.testing.assert_allclose(a.twist, b.twist, rtol=1e-6, atol=1e-9)
    for stamp in ("2026-01-02T03:04:{:06.3f}", "2026-01-02 03:04:{:06.3f}+01:00", "03:04:{:06.3f}"):
        dated = [(k, stamp.format(t), *rest) for k, t, *rest in rows]
        write(file, "track,timestamp,x,y,phi,tip_x,tip_y", dated)
        for a, b in zip(st.Push.from_csv(file, outline=OUTLINE), pushes, strict=True):
            np.testing.assert_allclose(a.twist, b.twist, rtol=1e-5, atol=1e-8)


# Names and units as others write them, what is between columns, and a row of units.
WRITTEN = [
    ("track,t [ms],x [mm],y [mm],phi [deg],tip_x [mm],tip_y [mm]", "", ","),
    ("run;time (ms);object_x (mm);object_y (mm);yaw (°);pusher_x (mm);pusher_y (mm)", "", ";"),
    ("Track\tt_ms\tx_mm\ty_mm\ttheta_deg\ttip_x_mm\ttip_y_mm", "", "\t"),
    ("track t/ms x/mm y/mm phi/° tip_x/mm tip_y/mm", "", " "),
    ("track,t,x,y,phi,tip_x,tip_y", ",ms,mm,mm,deg,mm,mm", ","),
    ("track,t_ms,x_mm,y_mm,qx,qy,qz,qw,tip_x_mm,tip_y_mm", "", ","),
]


@pytest.mark.parametrize(("head", "units", "between"), WRITTEN)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1", "utf-16"])
def test_tracks_are_read_as_others_write_them(tmp_path, head, units, between, encoding):
    poses, tip = recorded(np.random.default_rng(3), 0, 0.4, steps=8)
    rows = []
    for k, ((x, y, phi), (u, v)) in enumerate(zip(poses, tip)):
        # A quaternion of any length and sign.
        turn = [0, 0, -3 * np.sin(phi / 2), -3 * np.cos(phi / 2)]
        angle = turn if "qx" in head else [np.degrees(phi)]
        rows.append(["a b", 10 * k, 1e3 * x, 1e3 * y, *angle, 1e3 * u, 1e3 * v])
    rows.insert(40, ["a b", 395, "NA", *rows[40][3:]])
    if between == " ":
        rows = [["ab", *row[1:]] for row in rows]
    lines = [between.join(map(str, row)) for row in rows]
    text = ["# recorded by hand", head, units, "% begin", *lines]
    (tmp_path / "p.csv").write_bytes("\n".join(text).encode(encoding))
    pushes = st.Push.from_csv(tmp_path / "p.csv", outline=OUTLINE)
    plain = st.Push.from_track(poses, tip, outline=OUTLINE)
    assert len(pushes) == len(plain) > 3
    for a, b in zip(pushes, plain):
        np.testing.assert_allclose(a.twist, b.twist, rtol=1e-6, atol=1e-9)


HEAD = "point_x,point_y,normal_x,normal_y,motion_x,motion_y,motion_phi"


def test_gaps_in_a_table_of_pushes_were_not_measured(tmp_path):
    rows = [(0, -1, 0, 1, 0, 0.01, 0.02, 3.0), (0, -1, 0, 1, "", 0.01, 0.02, 3.0),
            (0, -1, 0, 1, 0, 0.01, 0.02, "")]  # fmt: skip
    pushes = st.Push.from_csv(write(tmp_path / "p.csv", HEAD + ",force_normal", rows))
    assert [p.force for p in pushes] == [(3.0,), None] and "1 rows not whole" in pushes.told


@pytest.mark.parametrize(
    ("head", "row", "message"),
    [
        (HEAD.replace("normal_x", "normalx"), range(7), "Did you mean 'normal_x'"),
        (HEAD, ("a", *range(6)), "row 2 is not made of numbers"),
        ("point_x,point_y,motion_x", range(3), "the column 'motion_y' is missing"),
        ("motion_x,motion_y,motion_phi", range(3), "pushes have no point"),
        ("x,y,phi,tip_x,tip_y", range(5), "does not say what the finger touches"),
        (HEAD, None, "there is no push"),
        (HEAD, ("inf", *range(6)), "none of them whole"),
        (HEAD.replace("normal_x", "point_x"), range(7), "'point_x' is there twice"),
        (HEAD.replace("point_x", "point_x [kg]"), range(7), "Found 'kg', expected m."),
        (HEAD.replace("motion_phi", "motion_phi [furlong]"), range(7), "expected rad or rad/s"),
        (
            HEAD.replace("motion_x", "motion_x_mm").replace("motion_phi", "motion_phi [deg/s]"),
            range(7),
            "some columns are velocities and others ways",
        ),
        ("0,-1,0,1,0,0.01,0.02", range(7), "the columns have no names"),
        ("x,y,qx,qy,qz,tip_x,tip_y", range(7), "the column 'qw' is missing"),
        ("x,y,qx,qy,qz,qw,tip_x,tip_y", (0, 0, 1, 0, 0, 1, 0, 0), "leaning by 90°"),
    ],
)
def test_bad_tables_are_refused_in_three_parts(tmp_path, head, row, message):
    file = write(tmp_path / "p.csv", head, [] if row is None else [row])
    with pytest.raises(st.StatementError, match=message) as error:
        st.Push.from_csv(file)
    assert str(error.value).count("\n") == 2


def test_one_track_that_is_no_push_leaves_the_others(tmp_path):
    # As spreadsheets write it where a comma is the point of a number.
    rows = [(1, 0, 0.0002 * k, 0, 0.01, 0.0002 * k - 0.04) for k in range(60)]
    rows += [(2, 0, 0, 0, 0.01, -0.04)] * 20
    text = ["track;x;y;phi;tip_x;tip_y", *(";".join(map(str, row)) for row in rows)]
    (tmp_path / "p.csv").write_text("\n".join(text).replace(".", ","))
    pushes = st.Push.from_csv(tmp_path / "p.csv", outline=OUTLINE)
    assert len(pushes) == 2 and "track 2 left out: no part of a track is a push" in pushes.told


def test_a_mistake_in_the_pushes_of_a_file_is_shown_where_it_stands(tmp_path):
    wrong = BOX.read_text().replace("box.csv", "bax.csv")
    (tmp_path / "box.toml").write_text(wrong)
    with pytest.raises(st.StatementError, match="cannot be read") as error:
        st.load(tmp_path / "box.toml")
    assert "box.toml:16" in str(error.value)


def test_what_has_no_end_is_no_table_of_pushes(tmp_path, monkeypatch):
    text = BOX.read_text()
    (tmp_path / "box.toml").write_text(text.replace("box.csv", "/dev/zero"))
    with pytest.raises(st.StatementError, match="it is a device or a pipe"):
        st.load(tmp_path / "box.toml")
    (tmp_path / "box.csv").write_text(BOX.with_suffix(".csv").read_text())
    (tmp_path / "box.toml").write_text(text)
    monkeypatch.setattr(push_file, "_LARGEST", 100)
    with pytest.raises(st.StatementError, match="more than 100 bytes"):
        st.load(tmp_path / "box.toml")


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ('weight = "2 N"', 'weight = "2 kg"', "Found '2 kg', expected N"),
        ('noise = ["0.1 mm"', 'noise = ["0.1 s"', "Found '0.1 s', expected m or m/s"),
        ("motion = [0,", 'motion = ["1 deg",', "Found '1 deg', expected m or m/s"),
        ('of = "phi.dot"', 'of = "3"', "with no velocity in it"),
        ('of = "phi.dot"', 'of = "phi.dot"\nt = "2 m"', "Found '2 m', expected s"),
    ],
)
def test_units_of_a_part_and_its_pushes_are_theirs(tmp_path, capsys, old, new, found):
    push = "[[weigh.pushes]]\npoint = [0.02, -0.03]\nnormal = [0, 1]\nmotion = [0, 0.01, 0.1]\n"
    text = BOX.read_text().replace('pushes = "box.csv"\n', "") + push
    assert old in text
    file = tmp_path / "box.toml"
    file.write_text(text.replace(old, new, 1))
    assert main(["bounds", str(file)]) == 3
    assert found in capsys.readouterr().err


WRONG = {
    ("centre = [0, -0.008]", "centre = [0, -0.8]"): ("centre", "outside its points"),
    ('weight = "2 N"', 'weight = "-2 N"'): ("weight", "not positive"),
    ("edge = [[-0.05, -0.03], [0.05, -0.03]]", "edge = [[0, 0], [0, 0]]"): ("pusher", "no length"),
    ("points = [[0.04, 0.02], [-0.04, 0.02], [-0.04, -0.02], [0.04, -0.02]]",
     "outline = [[0.04, 0.02], [-0.04, -0.02], [-0.04, 0.02], [0.04, -0.02]]"):
        ("outline", "crosses itself"),
    ('of = "phi.dot"', 'of = "phi.dot"\nat = {x = "1 s"}'): ("at", "another unit"),
    ('of = "phi.dot"', 'of = "phi.dot"\nat = {phi = "1 mm"}'): ("at", "another unit"),
    ('pushes = "box.csv"', "[[weigh.pushes]]\npoint = [0, -0.03]\nnormal = [0, 0]\n"
     "motion = [0, 1, 0]"): ("normal", "no direction"),
}  # fmt: skip


@pytest.mark.parametrize("change", WRONG)
def test_what_cannot_be_is_shown_where_it_stands(change, tmp_path):
    entry, message = WRONG[change]
    text = BOX.read_text().replace('noise = ["0.1 mm", "0.1 deg"]\n', "")
    text = (
        text.replace("box.csv", str(BOX.with_name("box.csv")))
        if "pushes" not in change[0]
        else text
    )
    file = tmp_path / "wrong.toml"
    file.write_text(text.replace(*change))
    with pytest.raises(st.StatementError, match=message) as error:
        st.load(file)
    line = int(str(error.value).removeprefix(f"{file}:").split(":")[0])
    rows = file.read_text().splitlines()
    # The entry, or the head of the table in which it stands.
    assert any(row.startswith(f"{entry} =") for row in rows[line - 1 : line + 3])
    assert line > 3
