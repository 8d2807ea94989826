"""The studio: answers without trusting what is typed, files that are not lost, a closed door."""

import json
import random
import re
import subprocess
import sys
import time

import pytest

from stationary.errors import StatementError
from stationary.studio import crew
from stationary.studio.crew import Worker
from stationary.studio.files import ModelFile, version_of
from stationary.studio.server import Studio, starters, token
from stationary.studio.work import TABS, answer

CART = next(iter(starters().values()))


# -- answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", starters())
def test_every_starter_is_read_and_offers_questions(name):
    found = answer("read", starters()[name])
    assert "error" not in found and set(found["questions"]) <= set(TABS)
    assert {"statement", "derivation"} <= set(found["questions"])


def test_the_cart_swings_and_is_explained():
    live = answer("live", CART)
    assert live["html"].startswith("<!doctype html>") and "code.dynamics" in live["html"]
    told = answer("derivation", CART)
    assert "<math" in told["html"]


def test_mistakes_are_data_with_their_place():
    wrong = CART.replace("m*g*l*cos(theta)", "m*g*l*cos(thetta)")
    found = answer("read", wrong)
    line = wrong.splitlines().index(next(x for x in wrong.splitlines() if "thetta" in x)) + 1
    assert found["line"] == line and "Did you mean 'theta'?" in found["error"]


def test_one_line_is_a_text_and_not_the_name_of_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.toml").write_text(CART)
    assert "error" in answer("read", "secret.toml")
    assert "error" in answer("read", str(tmp_path / "secret.toml"))


def mutated(text: str, source: random.Random) -> str:
    """Damage a text as a hostile or hurried writer would."""
    pieces = """' " [ ] { } = ^ ^^ 1e999 theta'' \x00 \ue000 __class__ </script> (((( # \\ nan -"""
    pieces = [*pieces.split(" "), "9" * 40, "import os", "\r", "\n[", "\n"]
    for _ in range(source.randint(1, 6)):
        a = source.randrange(len(text) + 1)
        b = min(len(text), a + source.choice([0, 0, 1, 3, 20]))
        text = text[:a] + source.choice([*pieces, text[b : b + 9]]) + text[b:]
    return text


@pytest.mark.parametrize("count", [150, pytest.param(10_000, marks=pytest.mark.slow)])
def test_damaged_texts_are_answered(count):
    source, texts = random.Random(count), list(starters().values())
    for _ in range(count):
        text = mutated(source.choice(texts), source)
        found = answer("read", text)
        assert ("error" in found) != ("names" in found), text
        json.dumps(found)


# -- processes ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_question_ends_at_its_limit_or_when_it_is_no_longer_wanted(monkeypatch):
    # On any machine it takes longer than nobody waits.
    monkeypatch.setattr(crew, "_GRACE", 0.0)
    long = CART.replace("span = [0, 10]", "span = [0, 5000]")
    worker = Worker(limit=60, memory=6_000_000_000)
    try:
        worker.begin()
        assert worker.ask("read", CART)["told"] == "cart with pendulum: 2 coordinates"
        worker.limit = 0.0
        late = worker.ask("motion", CART)
        assert "took longer than 0 s" in late["error"] and late["error"].count("\n") == 2
        worker.limit = 60
        looks = iter([True, True, False])
        assert worker.ask("motion", long, lambda: next(looks, False)) == {"stopped": True}
        # After either it answers again.
        assert "names" in worker.ask("read", CART)
        worker._process.kill()
        worker._process.join()
        assert "names" in worker.ask("read", CART)
    finally:
        worker.end()


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux alone")
@pytest.mark.slow
def test_a_process_without_memory_is_told():
    worker = Worker(limit=60, memory=150_000_000)
    try:
        found = worker.ask("read", CART)
        assert "memory" in found["error"] and found["error"].count("\n") >= 1
    finally:
        worker.end()


# -- files ----------------------------------------------------------------------------------------


def test_nobody_is_overwritten_unseen(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("one", encoding="utf-8")
    file = ModelFile(path, tmp_path)
    text, mine = file.read()
    assert (text, mine) == ("one", version_of("one"))
    path.write_text("theirs", encoding="utf-8")
    found = file.save("two", mine)
    assert found["conflict"] and found["text"] == "theirs" and path.read_text() == "theirs"
    done = file.save("two", found["version"])
    assert done["saved"] and path.read_text() == "two" and done["version"] == version_of("two")
    assert [p.name for p in tmp_path.iterdir()] == ["a.toml"]


@pytest.mark.parametrize("name", ["../a.toml", "/etc/a", "", "a/b", ".hidden", "a" * 200, "a\n"])
def test_new_files_stay_in_their_folder(tmp_path, name):
    with pytest.raises(StatementError):
        ModelFile(None, tmp_path).save("text", "", name)
    assert not list(tmp_path.iterdir())


def test_a_new_file_does_not_replace_one(tmp_path):
    (tmp_path / "a.toml").write_text("there")
    assert ModelFile(None, tmp_path).save("text", "", "a")["conflict"]
    assert ModelFile(None, tmp_path).save("text", "", "b")["file"] == "b.toml"


def test_a_deleted_file_is_written_again(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("one")
    file = ModelFile(path, tmp_path)
    _, seen = file.read()
    path.unlink()
    assert file.save("two", seen)["saved"] and path.read_text() == "two"


def test_ends_of_lines_and_rights_stay(tmp_path):
    path = tmp_path / "a.toml"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    path.chmod(0o600)
    file = ModelFile(path, tmp_path)
    text, seen = file.read()
    assert text == "a\nb\n"
    assert file.save("a\nc\n", seen)["saved"]
    assert path.read_bytes() == b"a\r\nc\r\n" and path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("there", [b"\xff\xfe\x00", None])
def test_what_is_no_text_is_told_and_not_written_over(tmp_path, there):
    path = tmp_path / "a.toml"
    path.mkdir() if there is None else path.write_bytes(there)
    file = ModelFile(path, tmp_path)
    for act in (file.read, lambda: file.save("text", "")):
        with pytest.raises(StatementError, match="cannot be read as a text") as error:
            act()
        assert str(error.value).count("\n") == 2
    assert path.is_dir() or path.read_bytes() == there


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("one")
    file = ModelFile(path, tmp_path)
    with pytest.raises(ValueError):
        file.save("half a character: \ud800", version_of("one"))
    assert [p.name for p in tmp_path.iterdir()] == ["a.toml"] and path.read_text() == "one"
    new = ModelFile(None, tmp_path)
    with pytest.raises(ValueError):
        new.save("\ud800", "", "b.toml")
    assert new.path is None


# -- the door -------------------------------------------------------------------------------------

GOOD = {"host": "127.0.0.1:80", "origin": "http://127.0.0.1:80"}


@pytest.mark.parametrize(
    ("headers", "given", "good"),
    [
        (GOOD, "t" * 40, True),
        (GOOD, "u" * 40, False),
        (GOOD, None, False),
        (GOOD, "tökén\ud800", False),
        ({**GOOD, "host": "127.0.0.1:80.evil.example"}, "t" * 40, False),
        ({**GOOD, "origin": "http://evil.example"}, "t" * 40, False),
        ({**GOOD, "origin": "null"}, "t" * 40, False),
        ({"host": "127.0.0.1:80"}, "t" * 40, False),
        ({**GOOD, "host": "evil.example"}, "t" * 40, False),
    ],
)
def test_only_its_own_page_is_answered(headers, given, good):
    studio = Studio(None, token="t" * 40, limit=1, memory=1)
    studio.hosts = {"127.0.0.1:80"}
    assert studio.trusts(headers, given) is good


def test_the_token_stays_and_is_private(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = token()
    assert len(first) >= 32 and token() == first
    kept = tmp_path / "stationary" / "studio-token"
    assert kept.stat().st_mode & 0o077 == 0
    kept.chmod(0o644)
    assert token() != first


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Run a studio; return its address and its folder."""
    folder = tmp_path_factory.mktemp("studio")
    (folder / "cart.toml").write_text(CART, encoding="utf-8")
    process, address = started(folder)
    yield address, folder
    with process:
        process.kill()


def started(folder, port="0"):
    import os

    process = subprocess.Popen(
        [sys.executable, "-m", "stationary", "studio", "cart.toml", "--no-open", "--port", port],
        cwd=folder, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")},
    )  # fmt: skip
    assert process.stdout is not None
    said = process.stdout.readline()
    address = re.search(r"http://\S+", said)
    if address is None:
        with process:
            process.kill()
        raise AssertionError(said)
    return process, address[0]


def conversation(address, **changes):
    from websockets.sync.client import connect

    host, _, query = address.removeprefix("http://").partition("/?")
    given = {"origin": f"http://{host}", "max_size": None} | changes
    return connect(f"ws://{host}/talk?{given.pop('query', query)}", **given)


def heard(socket, kind, timeout=60):
    for _ in range(100):
        message = json.loads(socket.recv(timeout=timeout))
        if message["kind"] == kind:
            return message
    raise AssertionError(f"nothing of kind {kind}")


@pytest.mark.slow
def test_a_conversation_with_the_server(server):
    address, folder = server
    with conversation(address) as socket:
        hello = heard(socket, "hello")
        assert hello["text"] == CART and hello["file"] == "cart.toml"
        socket.send(json.dumps({"kind": "read", "id": 1, "text": CART}))
        assert heard(socket, "read")["told"].startswith("cart with pendulum")
        socket.send(json.dumps({"kind": "ask", "id": 2, "question": "derivation", "text": CART}))
        assert "<math" in heard(socket, "ask")["html"]
        # What is no message, or none that it knows, is passed over.
        odd = ["[]", "{", '{"kind": "ask", "question": "os.system", "id": 3}', "null", '"x"',
               '{"kind": "ask", "question": ["live"]}', '{"kind": {}}', "[" * 100_000,
               '{"kind": "read", "id": Infinity}', '{"kind": "read", "id": 1e999}']  # fmt: skip
        for message in odd:
            socket.send(message)
        socket.send(
            json.dumps({"kind": "save", "id": 3, "text": "\ud800", "seen": version_of(CART)})
        )
        assert heard(socket, "save")["error"]
        socket.send(json.dumps({"kind": "read", "id": 4, "text": "x" * 1_000_001}))
        assert "too long" in heard(socket, "read")["error"]
        socket.send(json.dumps({"kind": "save", "id": 5, "text": CART + "#", "seen": "old"}))
        assert heard(socket, "save")["conflict"]
        assert (folder / "cart.toml").read_text(encoding="utf-8") == CART


@pytest.mark.slow
def test_windows_that_wait_for_answers_keep_nobody_from_saving(server):
    """Twenty windows ask what takes long; another one reads and saves meanwhile."""
    from contextlib import ExitStack

    with ExitStack() as windows:
        for k in range(20):
            socket = windows.enter_context(conversation(server[0]))
            text = CART.replace("1 kg", f"{1 + k} kg")
            socket.send(json.dumps({"kind": "ask", "id": 1, "question": "motion", "text": text}))
        mine = windows.enter_context(conversation(server[0]))
        mine.send(json.dumps({"kind": "save", "id": 1, "text": CART, "seen": version_of(CART)}))
        assert heard(mine, "save", 30)["saved"]
        mine.send(json.dumps({"kind": "read", "id": 2, "text": CART}))
        assert "names" in heard(mine, "read", 30)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are listed on Linux")
@pytest.mark.parametrize("by", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_an_ended_server_leaves_no_process(tmp_path, by):
    """Also while a question is being answered, and with windows open."""
    import signal
    from pathlib import Path

    def children(of):
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == of and fields[0] != "Z":
                found.append(int(stat.parent.name))
        return found

    (tmp_path / "cart.toml").write_text(CART, encoding="utf-8")
    process, address = started(tmp_path)
    with process, conversation(address) as socket:
        heard(socket, "hello")
        socket.send(json.dumps({"kind": "read", "id": 1, "text": CART}))
        heard(socket, "read")
        socket.send(json.dumps({"kind": "ask", "id": 2, "question": "motion", "text": CART}))
        time.sleep(0.3)
        workers = children(process.pid)
        assert len(workers) >= 2
        process.send_signal(getattr(signal, by))
        process.wait(timeout=20)
        # It ends: how soon is not the test's business.
        while any(Path(f"/proc/{pid}").exists() for pid in workers):
            time.sleep(0.1)


@pytest.mark.parametrize(
    "changes", [{"origin": "http://evil.example"}, {"query": "token=guess"}, {"query": ""}]
)
def test_strangers_are_not_heard(server, changes):
    from websockets.exceptions import InvalidStatus

    with pytest.raises(InvalidStatus):
        with conversation(server[0], **changes):
            pass


def test_the_page_needs_its_token(server):
    import urllib.error
    import urllib.request

    address, _ = server
    with urllib.request.urlopen(address) as page:
        assert (
            page.status == 200 and "default-src 'none'" in page.headers["Content-Security-Policy"]
        )
    for wrong in (address[:-5] + "xxxxx", address.partition("?")[0]):
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(wrong)
        with error.value:
            assert error.value.code == 403
