"""The studio's server: loopback only, a token in the address, no other origin."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from stationary.errors import MissingExtra, StatementError, say
from stationary.studio.crew import Worker
from stationary.studio.files import LONGEST, ModelFile
from stationary.studio.work import TABS

HOST = "127.0.0.1"
#: Where it is found, unless that place is taken.
PORT = 8719

_FOLDER = Path(__file__).parent

# While a text is being typed it is read again and again: that must be quick.
_READING = 10.0


class Studio:
    """What one server knows: the file, the token, and who answers."""

    def __init__(self, path: Path | None, *, token: str, limit: float, memory: int):
        folder = Path.cwd() if path is None else path.resolve().parent
        self.file = ModelFile(None if path is None else path.resolve(), folder)
        self.token = token
        self.reader = Worker(_READING, memory)
        self.asker = Worker(limit, memory)
        self.hosts: set[str] = set()

    def trusts(self, headers: Any, token: str | None, *, page: bool = False) -> bool:
        """Tell whether a request comes from this machine's own page: host, origin and token."""
        host = headers.get("host", "")
        origin = headers.get("origin")
        own = {f"http://{known}" for known in self.hosts}
        # A page that is opened has no origin; whatever it then asks for has one.
        good = origin in own or (page and origin is None)
        same = secrets.compare_digest((token or "").encode("utf-8", "replace"), self.token.encode())
        return host in self.hosts and good and same

    def app(self) -> Any:
        """Return the application."""
        try:
            from starlette.applications import Starlette
            from starlette.responses import HTMLResponse, PlainTextResponse
            from starlette.routing import Route, WebSocketRoute
        except ImportError:
            raise MissingExtra(
                "the studio needs starlette, uvicorn and websockets.",
                "At least one of them is not installed.",
                "Run: pip install 'stationary[studio]'",
            ) from None

        def page(request: Any) -> Any:
            if not self.trusts(request.headers, request.query_params.get("token"), page=True):
                words = "This is not the studio's address. Use the one that was printed."
                return PlainTextResponse(words, status_code=403)
            return HTMLResponse(self.page(), headers=_HEADERS)

        async def talk(socket: Any) -> None:
            if not self.trusts(socket.headers, socket.query_params.get("token")):
                await socket.close(code=4403)
                return
            await socket.accept()
            await Conversation(self, socket).run()

        return Starlette(routes=[Route("/", page), WebSocketRoute("/talk", talk)])

    def page(self) -> str:
        """Return the page of the studio."""
        text = (_FOLDER / "page" / "studio.html").read_text(encoding="utf-8")
        known = {"tabs": TABS, "starters": starters()}
        pieces = {
            "STYLE": (_FOLDER / "page" / "studio.css").read_text(encoding="utf-8"),
            "SCRIPT": (_FOLDER / "page" / "studio.js").read_text(encoding="utf-8"),
            "KNOWN": json.dumps(known).replace("<", "\\u003c"),
            "TITLE": escape(self.file.path.name if self.file.path else "studio"),
        }
        for word, content in pieces.items():
            text = text.replace(f"«{word}»", content, 1)
        return text


# Pages in frames of the studio inherit these: their code and pictures are inside, and nothing
# leaves the machine.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; worker-src blob:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Conversation:
    """One window: its questions, of which the last of each kind counts."""

    def __init__(self, studio: Studio, socket: Any):
        self.studio, self.socket = studio, socket
        self.latest: dict[str, int] = {}
        self.tasks: set[asyncio.Task] = set()
        self.open = True

    async def run(self) -> None:
        """Listen until the window closes."""
        from starlette.websockets import WebSocketDisconnect

        try:
            text, version = self.studio.file.read()
            content = {"text": text, "version": version}
        except StatementError as error:
            content = {"text": "", "version": "", "error": str(error)}
        await self.say({"kind": "hello", "file": self._name(), **content})
        try:
            while True:
                message = await self.socket.receive_text()
                if len(message) > 2 * LONGEST:
                    continue
                task = asyncio.create_task(self.hear(message))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)
        except (WebSocketDisconnect, KeyError):
            # The window is closed, or sends what is no text.
            self.open = False
            self.latest.clear()

    def _name(self) -> str:
        path = self.studio.file.path
        return path.name if path is not None else ""

    async def say(self, message: dict[str, Any]) -> None:
        """Tell the window something, if it is still there."""
        if self.open:
            try:
                await self.socket.send_text(json.dumps(message))
            except (RuntimeError, OSError):
                self.open = False

    async def hear(self, raw: str) -> None:
        """Answer one message of the window."""
        try:
            message = json.loads(raw)
            kind, number = str(message["kind"]), int(message.get("id", 0))
            text, question = message.get("text", ""), str(message.get("question", ""))
            good = isinstance(text, str) and len(text) <= LONGEST
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
            return
        if kind == "stop":
            self.latest["ask"] = number
        elif not good:
            words = say("the text is too long for a model.",
                        f"Found more than {LONGEST} characters.", "Shorten it.")  # fmt: skip
            await self.say({"kind": kind, "id": number, "error": words})
        elif kind == "save":
            seen, name = (str(message.get(key, "")) for key in ("seen", "name"))
            await self.save(number, text, seen, name)
        elif kind == "read" or (kind == "ask" and question in TABS):
            await self.ask(kind, number, "read" if kind == "read" else question, text)

    async def save(self, number: int, text: str, seen: str, name: str) -> None:
        """Write the file, or say what stands in the way."""
        try:
            outcome = await asyncio.to_thread(self.studio.file.save, text, seen, name)
        except (StatementError, OSError, ValueError) as error:
            outcome = {"error": str(error)}
        await self.say({"kind": "save", "id": number, **outcome})

    async def ask(self, kind: str, number: int, question: str, text: str) -> None:
        """Have a question answered; a later one of the same kind takes its place."""
        self.latest[kind] = number
        worker = self.studio.reader if kind == "read" else self.studio.asker
        # Questions of many windows wait for their worker, and nothing else waits for them.
        reply = await asyncio.get_running_loop().run_in_executor(
            worker.turns,
            worker.ask, question, text, lambda: self.open and self.latest.get(kind) == number,
        )  # fmt: skip
        more = {}
        if kind == "read":
            try:
                more = {"there": self.studio.file.read()[1]}
            except StatementError:
                pass  # Whoever saves is told.
        await self.say({"kind": kind, "id": number, "question": question, **reply, **more})


def starters() -> dict[str, str]:
    """Return the models that are one click away, by name."""
    files = sorted((_FOLDER / "starters").glob("*.toml"))
    return {path.stem.partition("-")[2].replace("_", " "): path.read_text(encoding="utf-8")
            for path in files}  # fmt: skip


def token() -> str:
    """Return this user's token: the same after a restart, so that open pages find back."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stationary"
    path = home / "studio-token"
    try:
        kept = path.read_text(encoding="utf-8").strip()
        private = path.stat().st_mode & 0o077 == 0 or os.name != "posix"
        if len(kept) >= 32 and private:
            return kept
    except OSError:
        pass
    fresh = secrets.token_urlsafe(32)
    try:
        home.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(fresh)
    except OSError:
        pass  # It holds for this run, then.
    return fresh


def bound(port: int | None) -> socket.socket:
    """Return a socket on this machine alone: at the usual port, or at any that is free."""
    taken: OSError | None = None
    for number in [port] if port is not None else [PORT, 0]:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, number))
            # From now on who comes waits, and is not turned away.
            listener.listen(100)
            return listener
        except OSError as error:
            listener.close()
            taken = error
    raise StatementError(
        f"port {port} is taken or not allowed.",
        f"Found: {taken}.",
        "Leave --port out to have a free one chosen.",
    )


def run(
    path: Path | None,
    *,
    port: int | None = None,
    limit: float = 60.0,
    memory: int = 6_000_000_000,
    ready: Callable[[str], Any] = print,
) -> None:
    """Serve until the keyboard interrupts.

    Parameters
    ----------
    path : Path or None
        The model file; it need not exist.
    port : int, optional
    limit : float
        Seconds that a question may take.
    memory : int
        Bytes that a question may use.
    ready : callable
        Called with the address once it can be opened.
    """
    studio = Studio(path, token=token(), limit=limit, memory=memory)
    app = studio.app()
    import uvicorn

    listening = bound(port)
    place = listening.getsockname()[1]
    studio.hosts = {f"{HOST}:{place}", f"localhost:{place}"}
    config = uvicorn.Config(app, log_level="critical", ws_max_size=4 * LONGEST, lifespan="off")
    server = uvicorn.Server(config)

    async def serve() -> None:
        for worker in (studio.reader, studio.asker):
            asyncio.get_running_loop().run_in_executor(worker.turns, worker.begin)
        ready(f"http://{HOST}:{place}/?token={studio.token}")
        await server.serve(sockets=[listening])

    try:
        asyncio.run(serve())
    except KeyboardInterrupt:
        pass
    finally:
        studio.reader.close()
        studio.asker.close()
