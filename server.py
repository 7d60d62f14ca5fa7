"""The server: the app, with the model opened before the first visitor comes.

``streamlit run server.py`` runs it. ``streamlit run app.py`` runs the same app without the two
services given here.
"""

import asyncio
import gc
import os
import sys
import threading
from contextlib import asynccontextmanager, suppress

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.routing import Route

from pages.shared.visitors import VISITORS

# Before torch reads it. By default torch's threads wait for each other by spinning: on a machine
# that also draws the page, one that has lost its core holds the other up for tenths of a second.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# A forward pass is six hundred small steps, and each asks for the interpreter again. At Python's
# 5 ms a pass beside three scripts that draw pages took 12 s, at 0.5 ms it takes 1.8.
sys.setswitchinterval(0.0005)
# Before the hub's library reads it: the server never asks the hub; `python -m model.prepare` does.
os.environ["HF_HUB_OFFLINE"] = "1"

# Told where the server is, the browser need not guess it from a deep link such as /attention,
# for which it would first ask /attention/_stcore/health and log an error.
_BASE = b"<script>window.__streamlit = { BACKEND_BASE_URL: window.location.origin };</script>"


# What the browser may do with the page: its scripts, pictures, fonts and data come from this server
# and nowhere else, whatever the page holds. Streamlit's scripts stand in its page and compile code
# (a component's, the charts'), so both must be allowed.
_HEADERS = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'self'",
            "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self' data: blob:",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
        )
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}

#: Set when the libraries are imported.
ready = asyncio.Event()


def _is_file(path: str) -> bool:
    """Whether a file is asked for, which goes out as it is: one of the app's own, or a download."""
    return "/static/" in path or "/media/" in path


class Guard:
    """Sends the headers above with every answer, and refuses what another site's page asks for.

    Streamlit refuses such a socket too, but not before it has asked a service on the internet for
    this machine's own address, to compare: for seconds, in which it serves nobody else.
    """

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] == "websocket" and _is_from_another_site(Headers(scope=scope)):
            await send({"type": "websocket.close", "code": 1008})
            return

        async def guarded(message):
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self.app(scope, receive, guarded if scope["type"] == "http" else send)


def _is_from_another_site(headers: Headers) -> bool:
    """Whether a page that is neither this server's nor named by the operator opens the socket.

    Programs that are no browsers say no origin; no page can leave it out.
    """
    origin = headers.get("origin")
    if origin is None or origin in st.get_option("server.corsAllowedOrigins"):
        return False
    return origin.partition("://")[2] != headers.get("host")


class BaseUrl:
    """Puts the server's address into the page's head, and lets sessions begin when all is ready."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] == "websocket":
            await ready.wait()
            with VISITORS.visit():
                await self.app(scope, receive, send)
            return
        if scope["type"] != "http" or "/_stcore/" in scope["path"] or _is_file(scope["path"]):
            await self.app(scope, receive, send)
            return
        plain = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
        start = None

        async def relay(message):
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            if start is not None:
                message = _with_base(start, message)
                await send(start)
                start = None
            await send(message)

        await self.app({**scope, "headers": plain}, receive, relay)


def _with_base(start: dict, body: dict) -> dict:
    headers = MutableHeaders(scope=start)
    content = body.get("body", b"")
    if not headers.get("content-type", "").startswith("text/html") or b"<head>" not in content:
        return body
    content = content.replace(b"<head>", b"<head>" + _BASE, 1)
    headers["content-length"] = str(len(content))
    return {**body, "body": content}


def set_aside_for_good() -> None:
    """Keep what is there by now, the libraries and the model, out of every garbage collection.

    Streamlit collects all generations after each run of a script. Over the million objects of the
    libraries that takes 0.25 s, in which no other visitor's script runs.
    """
    gc.collect()
    gc.freeze()


@asynccontextmanager
async def warm(app):
    """Import the libraries and open the default model while the browser loads the page's files.

    No session begins before the imports are done: a visitor's thread that imported the same
    modules at the same time would meet them half made.
    """
    loop = asyncio.get_running_loop()

    def opened():
        try:
            from model import DEFAULT_KEY, ExplainerError
            from pages.shared.store import opened_model
        finally:
            loop.call_soon_threadsafe(ready.set)
        with suppress(ExplainerError):  # the page says what is wrong, and to whom it concerns
            _ = opened_model(DEFAULT_KEY).vocabulary.labels  # worked out once, about 0.3 s
        set_aside_for_good()

    threading.Thread(target=opened, daemon=True).start()
    yield


async def status(request) -> JSONResponse:
    """The server in numbers, for the operator."""
    from pages.shared.status import status

    await ready.wait()
    return JSONResponse(await asyncio.to_thread(status))


def tell_of_failure(problem: Exception) -> bool:
    """A page has failed; Streamlit has written it to the log. Whether the visitor has been told: yes."""
    from pages.shared import failure  # by now imported with the rest; before, it would hold up the start

    failure.tell()
    return True


app = st.App(
    "app.py",
    lifespan=warm,
    middleware=[Middleware(Guard), Middleware(BaseUrl)],
    routes=[Route("/status", status)],
    on_script_error=tell_of_failure,
)
