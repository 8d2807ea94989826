"""The studio: answers without trusting what is typed, files that are not lost, a closed door."""

import json
import random
import re
import subprocess
import sys
import time

import pytest

from stationary.errors import StatementError
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
def test_a_question_ends_at_its_limit_or_when_it_is_no_longer_wanted():
    worker = Worker(limit=60, memory=6_000_000_000)
    try:
        worker.begin()
        assert worker.ask("read", CART)["told"] == "cart with pendulum: 2 coordinates"
        worker.limit = 0.0
        late = worker.ask("motion", CART)
        assert "took longer than 0 s" in late["error"] and late["error"].count("\n") == 2
        worker.limit = 60
        looks = iter([True, True, False])
        assert worker.ask("motion", CART, lambda: next(looks, False)) == {"stopped": True}
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


# -- the door -------------------------------------------------------------------------------------

GOOD = {"host": "127.0.0.1:80", "origin": "http://127.0.0.1:80"}


@pytest.mark.parametrize(
    ("headers", "given", "good"),
    [
        (GOOD, "t" * 40, True),
        (GOOD, "u" * 40, False),
        (GOOD, None, False),
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
    end = time.monotonic() + timeout
    while time.monotonic() < end:
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
        for odd in ("[]", "{", '{"kind": "ask", "question": "os.system", "id": 3}', "null", '"x"'):
            socket.send(odd)
        socket.send(json.dumps({"kind": "read", "id": 4, "text": "x" * 1_000_001}))
        assert "too long" in heard(socket, "read")["error"]
        socket.send(json.dumps({"kind": "save", "id": 5, "text": CART + "#", "seen": "old"}))
        assert heard(socket, "save")["conflict"]
        assert (folder / "cart.toml").read_text(encoding="utf-8") == CART


@pytest.mark.parametrize(
    "changes", [{"origin": "http://evil.example"}, {"query": "token=guess"}, {"query": ""}]
)
def test_strangers_are_not_heard(server, changes):
    from websockets.exceptions import InvalidStatus

    with pytest.raises(InvalidStatus):
        conversation(server[0], **changes).close()


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
        assert error.value.code == 403
