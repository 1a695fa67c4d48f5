"""What the Prefect server of a project tells its visitors, and whom it refuses."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient, WebSocketDenialResponse
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from nightjar.core import paths
from pipelines.project.names import SECRETS
from pipelines.serving import server as servers
from pipelines.serving.server_app import same_origin
from tests.pipelines.conftest import Api, environment

EVIL = "http://evil.example"


def test_the_page_asks_its_own_server_whatever_the_port(api: Api) -> None:
    with urllib.request.urlopen(f"{api.server.url}/ui-settings", timeout=200) as answer:
        settings = json.load(answer)
    assert api.server.port != 4200
    assert settings["api_url"] == f"{api.server.url}/api"


def test_nobody_else_can_read_what_the_server_keeps(api: Api) -> None:
    # The database's file was there before the server, and open to all.
    home = api.root / paths.PREFECT
    kept = {path.relative_to(home).as_posix(): path.stat().st_mode & 0o777 for path in home.rglob("*")}
    assert {"prefect.db", "server.log"} <= kept.keys()
    assert {name for name, mode in kept.items() if mode & 0o077} == set()
    assert home.stat().st_mode & 0o777 == 0o700


def test_the_server_gets_the_password_of_its_database_and_its_clients_neither_secrets_nor_patience(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NIGHTJAR_WEBHOOK", "https://chat.example/hook")
    monkeypatch.setenv("PGPASSWORD", "made-up")
    server, client = servers.environment(tmp_path), servers.environment(tmp_path, "http://127.0.0.1:4200")
    assert server["PGPASSWORD"] == "made-up"
    assert [name for name in SECRETS if name in client] == []
    assert [name for name in SECRETS if name in server] == ["PGPASSWORD"]
    # Clients soon notice a server that hangs. An automation's action calls the API in the server's own process: with
    # the clients' settings an action was lost beside six runs.
    hasty = {"PREFECT_CLIENT_MAX_RETRIES", "PREFECT_API_REQUEST_TIMEOUT"}
    assert hasty <= client.keys() and not hasty & server.keys()


def answer_web_socket(app: ASGIApp, **headers: str) -> str:
    """The outcome of the opening of a WebSocket at `app`: "open", or the status of the refusal."""
    client = TestClient(app, base_url=f"http://127.0.0.1:{PORT}")
    try:
        with client.websocket_connect(f"ws://127.0.0.1:{PORT}/", headers=headers):
            return "open"
    except WebSocketDenialResponse as refusal:
        return str(refusal.status_code)


async def accept(socket: WebSocket) -> None:
    await socket.accept()
    await socket.close()


PORT = 4321
APP = Starlette(
    routes=[
        Route("/", lambda request: PlainTextResponse("fine"), methods=["GET", "POST", "OPTIONS"]),
        WebSocketRoute("/", accept),
    ]
)
GUARDED = same_origin(APP, PORT)
FOREIGN_HOSTS = (f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", f"localhost.evil:{PORT}", "")
FOREIGN_ORIGINS = (EVIL, "null", "http://127.0.0.1:1", f"https://127.0.0.1:{PORT}", "http://localhost", "")


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Host": host}, 400) for host in FOREIGN_HOSTS] + [({"Origin": one}, 403) for one in FOREIGN_ORIGINS],
)
def test_another_host_or_origin_is_refused_in_one_line(headers: dict[str, str], status: int) -> None:
    client = TestClient(GUARDED, base_url=f"http://127.0.0.1:{PORT}")
    for method in ("GET", "POST", "OPTIONS"):
        refusal = client.request(method, "/", headers=headers)
        assert (refusal.status_code, refusal.text.count("\n")) == (status, 1) and "127.0.0.1" in refusal.text
        assert "Access-Control-Allow-Origin" not in refusal.headers
    assert answer_web_socket(GUARDED, **headers) == str(status)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_the_servers_own_pages_and_clients_are_answered(name: str) -> None:
    client = TestClient(GUARDED, base_url=f"http://127.0.0.1:{PORT}")
    host, origin = f"{name}:{PORT}", f"http://{name.lower()}:{PORT}"
    assert client.get("/", headers={"Host": host}).text == "fine"
    assert client.post("/", headers={"Host": host, "Origin": origin}).text == "fine"
    assert answer_web_socket(GUARDED, Origin=origin) == answer_web_socket(GUARDED) == "open"


def test_at_port_80_the_port_may_be_left_out() -> None:
    client = TestClient(same_origin(APP, 80), base_url="http://127.0.0.1")
    assert client.get("/", headers={"Origin": "http://localhost"}).text == "fine"
    assert client.get("/", headers={"Origin": "http://localhost:81"}).status_code == 403
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 400


def test_the_live_server_is_guarded_and_allows_its_own_pages(api: Api) -> None:
    def ask(method: str, path: str, content: str = "", **headers: str) -> httpx.Response:
        return httpx.request(method, f"{api.server.url}{path}", content=content, headers=headers, timeout=200)

    assert ask("GET", "/api/health", Host="evil.example").status_code == 400
    flow = json.dumps({"name": "of-another-origin"})
    assert ask("POST", "/api/flows/", flow, Origin=EVIL, **{"Content-Type": "text/plain"}).status_code == 403
    assert api.ask("flows/filter", flows={"name": {"any_": ["of-another-origin"]}}) == []
    origin = f"http://localhost:{api.server.port}"
    preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    for answer in (
        ask("POST", "/api/flows/filter", "{}", Origin=origin, **{"Content-Type": "application/json"}),
        ask("OPTIONS", "/api/flows/filter", Origin=origin, **preflight),
    ):
        assert (answer.status_code, answer.headers["Access-Control-Allow-Origin"]) == (200, origin)
    missing = ask("GET", "/report/index.html")
    assert missing.status_code == 404 and missing.text.startswith("there is no report yet")


def test_the_server_reads_no_settings_from_the_folder_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prefect takes a .env of its working folder for its settings; a password there would keep every client out."""
    started: list[tuple[list[str], Path]] = []

    class Started:
        pid = os.getpid()

        def __init__(self, command: list[str], cwd: Path, *_: object, **__: object) -> None:
            started.append((command, cwd))

    monkeypatch.setattr(servers, "Child", Started)
    (tmp_path / ".env").write_text("PREFECT_SERVER_API_AUTH_STRING=admin:password\n")
    servers.start(tmp_path, 4200, "rebuild")
    ((command, folder),) = started
    assert command[-1] == str(tmp_path) and folder == tmp_path / paths.PREFECT
    assert not (folder / ".env").exists()


ASK = """
from pipelines.serving import session
with session.temporary_settings(session.{patience}):
    print(session.get_client(sync_client=True).hello().text)
"""


@pytest.mark.parametrize(("patience", "refusals"), [("PATIENT", 6), ("HASTY", 3)])
def test_a_run_and_its_tasks_ask_a_busy_server_again(tmp_path: Path, patience: str, refusals: int) -> None:
    # A server whose database is locked refuses a call with 503. It did so four times in a row beside six other runs.
    asked: list[str] = []

    class Busy(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/api/hello":
                asked.append(self.path)
            self.send_response(503 if len(asked) <= refusals else 200)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b"well")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer((servers.HOST, 0), Busy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = servers.environment(tmp_path, f"http://{servers.HOST}:{server.server_port}")
        command = [sys.executable, "-c", ASK.format(patience=patience)]
        done = subprocess.run(command, env=client | environment(), capture_output=True, text=True)
        server.shutdown()
    assert (done.stdout, len(asked)) == ("well\n", refusals + 1), done.stderr
