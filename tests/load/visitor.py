"""One visitor: Streamlit's own protocol over a websocket, as its page in the browser speaks it.

Thirty browsers would need more of the machine than the server that they look at. What a browser
sends and waits for is sent and waited for here; nothing is drawn.
"""

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import connect

#: Seconds after which an action that was not answered has failed.
PATIENCE = 120.0
#: How Streamlit names the widget that carries a component's events.
EVENTS = "$$STREAMLIT_INTERNAL_KEY_{}__events"


@dataclass
class Shown:
    """What is on the visitor's page.

    Attributes:
        elements: by type, as ``button``, with the fragment that each belongs to.
    """

    elements: list[tuple[str, object, str]] = field(default_factory=list)

    def of(self, kind: str) -> Iterator[tuple[object, str]]:
        """Elements of one type, each with its fragment (empty: the page itself)."""
        return ((element, fragment) for name, element, fragment in self.elements if name == kind)

    def component(self, name: str) -> tuple[object, str] | None:
        """A component of our own, with its fragment."""
        return next((each for each in self.of("bidi_component") if each[0].component_name.endswith(name)), None)

    @property
    def strip(self) -> list[str]:
        """The labels in the token strip; empty if there is none."""
        found = self.component("strip")
        return [token["label"] for token in json.loads(found[0].json)["tokens"]] if found else []

    @property
    def title(self) -> str:
        """The page's heading."""
        return next((each.body for each, _ in self.of("heading") if each.tag == "h1"), "")

    @property
    def is_whole(self) -> bool:
        """Whether the page came to its end."""
        return any("Where it stops being true" in each.body for each, _ in self.of("heading"))

    @property
    def complaints(self) -> list[str]:
        """Exceptions, warnings and errors on the page."""
        wrong = [each.message or each.type for each, _ in self.of("exception")]
        return wrong + [each.body for each, _ in self.of("alert")]


class Visitor:
    """A browser tab, open on the app.

    Args:
        address: of the server, as ``http://127.0.0.1:8501``.
        forbidden: bytes that no message to this visitor may hold.

    Attributes:
        shown: the page as it is now.
        leaked: which of the forbidden bytes came.
        received: bytes that came.
    """

    def __init__(self, address: str, forbidden: frozenset[bytes] = frozenset()):
        self._address = address.replace("http", "ws", 1) + "/_stcore/stream"
        self._http, self._forbidden = address, forbidden
        self.shown, self.leaked, self.received = Shown(), set(), 0
        self._query, self._page = "", ""
        self._cached: dict[str, ForwardMsg] = {}
        self._fragments: frozenset[str] = frozenset()
        self._coming = Shown()
        self._answered: asyncio.Future | None = None
        self._awaited_fragment = ""
        self._polls: set[asyncio.Task] = set()

    async def __aenter__(self):
        self._socket = await connect(
            self._address,
            subprotocols=["streamlit"],
            compression=None,
            max_size=None,
            origin=self._http,
            open_timeout=PATIENCE,
        )
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *exception):
        self._stop_polling()
        await self._socket.close()
        self._reader.cancel()
        with suppress(asyncio.CancelledError):
            await self._reader

    # ---- what a visitor does; each gives the seconds until the page was finished -------------------

    async def open(self, page: str, query: str = "") -> float:
        """Follow a link from outside."""
        self._query = query
        return await self._act(ClientState(page_name="" if page == "home" else page))

    async def go_to(self, page: str) -> float:
        """Follow a link of the menu."""
        name = "" if page == "home" else page
        link = next(each for each, _ in self.shown.of("page_link") if each.page == name)
        return await self._act(ClientState(page_script_hash=link.page_script_hash))

    async def type_text(self, text: str) -> float:
        """Type another text and send it."""
        box = next(each for each, _ in self.shown.of("text_area") if each.form_id)
        button = next(each for each, _ in self.shown.of("button") if each.is_form_submitter)
        return await self._act(
            self._moved(WidgetState(id=box.id, string_value=text), WidgetState(id=button.id, trigger_value=True))
        )

    async def tell(self, component: str, event: str, value: object) -> float:
        """What a component of ours reports."""
        found = self.shown.component(component)
        if found is None:
            raise LookupError(f"there is no {component} on the page {self.shown.title!r}")
        events = json.dumps([{"event": event, "value": value}])
        state = self._moved(WidgetState(id=EVENTS.format(found[0].id), json_trigger_value=events))
        state.fragment_id = found[1]
        return await self._act(state)

    # ---- the wire -----------------------------------------------------------------------------------

    def _moved(self, *widgets: WidgetState) -> ClientState:
        state = ClientState(page_script_hash=self._page)
        state.widget_states.widgets.extend(widgets)
        return state

    async def _act(self, state: ClientState) -> float:
        """Send, and wait until the run that it asks for has come to its end."""
        begin = perf_counter()
        self._answered = asyncio.get_running_loop().create_future()
        self._awaited_fragment = state.fragment_id
        await self._send(state)
        async with asyncio.timeout(PATIENCE):
            await self._answered
        return perf_counter() - begin

    async def _send(self, state: ClientState) -> None:
        state.query_string = self._query
        state.cached_message_hashes.extend(self._cached)
        await self._socket.send(BackMsg(rerun_script=state).SerializeToString())

    async def _read(self) -> None:
        async for data in self._socket:
            self.receive(data)

    def receive(self, data: bytes) -> None:
        """Take one message of the server."""
        self.received += len(data)
        self.leaked |= {each for each in self._forbidden if each in data}
        message = ForwardMsg.FromString(data)
        if message.WhichOneof("type") == "ref_hash":
            kept = self._cached[message.ref_hash]
            kept.metadata.CopyFrom(message.metadata)
            message = kept
        elif message.metadata.cacheable:
            self._cached[message.hash] = message
        self._take(message)

    def _take(self, message: ForwardMsg) -> None:
        match message.WhichOneof("type"):
            case "new_session":
                self._begin(message.metadata.run.fragment_ids)
            case "navigation":
                self._page = message.navigation.page_script_hash
            case "delta":
                self._draw(message.delta)
            case "page_info_changed":
                self._query = message.page_info_changed.query_string
            case "auto_rerun":
                poll = asyncio.create_task(self._poll(message.auto_rerun.fragment_id, message.auto_rerun.interval))
                self._polls.add(poll)
            case "script_finished":
                self._finish(message.script_finished)

    def _begin(self, fragments: Sequence[str]) -> None:
        """A run begins: of the page, or of some of its fragments."""
        self._fragments = frozenset(fragments)
        if not self._fragments:
            self._stop_polling()
            self._coming = Shown()

    def _draw(self, delta) -> None:
        if delta.WhichOneof("type") != "new_element":
            return
        kind = delta.new_element.WhichOneof("type")
        shown = self.shown if self._fragments else self._coming
        shown.elements.append((kind, getattr(delta.new_element, kind), delta.fragment_id))

    def _finish(self, how: int) -> None:
        if how == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            return
        if not self._fragments:
            self.shown = self._coming
        is_mine = not self._fragments or self._awaited_fragment in self._fragments
        if self._answered is not None and not self._answered.done() and is_mine:
            self._answered.set_result(None)

    async def _poll(self, fragment: str, interval: float) -> None:
        """Look at a measurement again and again, as the page does by itself."""
        while True:
            await asyncio.sleep(interval)
            await self._send(ClientState(page_script_hash=self._page, fragment_id=fragment, is_auto_rerun=True))

    def _stop_polling(self) -> None:
        for poll in self._polls:
            poll.cancel()
        self._polls.clear()
