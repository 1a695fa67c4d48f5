"""What the Prefect server of a project tells its visitors, and whom it refuses."""

from __future__ import annotations

import http.client
import http.server
import json
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from nightjar.core import paths
from pipelines.project.names import SECRETS
from pipelines.serving import server as servers
from pipelines.serving.server_app import same_origin
from tests.pipelines.conftest import Api, environment

EVIL = "http://evil.example"
PREFLIGHT = {"Access_Control_Request_Method": "POST", "Access_Control_Request_Headers": "content-type"}


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


def test_the_server_gets_the_password_of_its_database_and_its_clients_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NIGHTJAR_WEBHOOK", "https://chat.example/hook")
    monkeypatch.setenv("PGPASSWORD", "made-up")
    server, client = servers.environment(tmp_path), servers.environment(tmp_path, "http://127.0.0.1:4200")
    assert server["PGPASSWORD"] == "made-up"
    assert [name for name in SECRETS if name in client] == []
    assert [name for name in SECRETS if name in server] == ["PGPASSWORD"]


def ask(
    api: Api, method: str, path: str, body: str = "", **headers: str
) -> tuple[int, http.client.HTTPMessage, str]:
    """Status, headers and text of an answer; an underscore in a header's name is a hyphen."""
    connection = http.client.HTTPConnection("127.0.0.1", api.server.port, timeout=200)
    named = {name.replace("_", "-"): value.format(port=api.server.port) for name, value in headers.items()}
    try:
        connection.request(method, path, body or None, named)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def handshake(api: Api, **headers: str) -> str:
    """The status line that answers the opening of a WebSocket for events."""
    sent = {
        "Host": f"127.0.0.1:{api.server.port}",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Protocol": "prefect",
    } | {name: value.format(port=api.server.port) for name, value in headers.items()}
    lines = ["GET /api/events/out HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items()), "", ""]
    with socket.create_connection(("127.0.0.1", api.server.port), timeout=200) as connection:
        connection.sendall("\r\n".join(lines).encode())
        with connection.makefile("rb") as answer:
            return answer.readline().decode().strip()


FOREIGN_HOSTS = ("evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil:{port}", "")
FOREIGN_ORIGINS = (EVIL, "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}", "http://localhost", "")


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
@pytest.mark.parametrize("path", ["/api/health", "/api/variables/", "/report/", "/runs"])
def test_another_host_name_is_refused(api: Api, host: str, path: str) -> None:
    status, _, text = ask(api, "GET", path, Host=host)
    assert (status, text.count("\n")) == (400, 1) and "127.0.0.1" in text


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_a_page_of_another_origin_reads_and_starts_nothing(api: Api, origin: str) -> None:
    name = f"made-by-{origin.encode().hex()}"
    body = json.dumps({"name": name})
    refused = [
        ask(api, "GET", "/api/health", Origin=origin),
        ask(api, "POST", "/api/flows/", body, Origin=origin, Content_Type="text/plain"),
        ask(api, "POST", "/api/flows/", body, Origin=origin, Content_Type="application/json"),
        ask(api, "OPTIONS", "/api/flows/", Origin=origin, **PREFLIGHT),
    ]
    for status, headers, text in refused:
        assert (status, text.count("\n")) == (403, 1), text
        assert headers["Access-Control-Allow-Origin"] is None
    assert api.ask("flows/filter", flows={"name": {"any_": [name]}}) == []


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_the_servers_own_pages_are_answered(api: Api, name: str) -> None:
    own = {"Host": f"{name}:{{port}}", "Origin": f"http://{name.lower()}:{{port}}"}
    assert ask(api, "GET", "/api/health", Host=own["Host"])[0] == 200
    status, headers, _ = ask(api, "POST", "/api/flows/filter", "{}", **own, Content_Type="application/json")
    origin = f"http://{name.lower()}:{api.server.port}"
    assert (status, headers["Access-Control-Allow-Origin"]) == (200, origin)
    status, headers, _ = ask(api, "OPTIONS", "/api/flows/filter", **own, **PREFLIGHT)
    assert (status, headers["Access-Control-Allow-Origin"]) == (200, origin)


def test_the_report_is_under_the_address_of_the_server(api: Api) -> None:
    status, _, text = ask(api, "GET", "/report/index.html")
    assert status == 404 and text.startswith("there is no report yet")


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_a_web_socket_of_another_origin_is_refused(api: Api, origin: str) -> None:
    assert handshake(api, Origin=origin).startswith("HTTP/1.1 403 ")


def test_at_port_80_the_port_may_be_left_out() -> None:
    client = TestClient(same_origin(PlainTextResponse("fine"), 80), base_url="http://127.0.0.1")
    assert client.get("/", headers={"Origin": "http://localhost"}).text == "fine"
    assert client.get("/", headers={"Origin": "http://localhost:81"}).status_code == 403
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 400


def test_web_sockets_need_the_servers_own_host_and_are_open_to_its_pages_and_clients(api: Api) -> None:
    assert handshake(api, Host="evil.example:{port}").startswith("HTTP/1.1 400 ")
    assert handshake(api, Origin="http://localhost:{port}").startswith("HTTP/1.1 101 ")
    assert handshake(api).startswith("HTTP/1.1 101 ")


def test_clients_soon_notice_a_server_that_hangs_and_the_server_itself_is_patient(tmp_path: Path) -> None:
    # An automation's action calls the API in the server's own process. With the clients' settings an action was lost
    # beside six runs.
    server, client = servers.environment(tmp_path), servers.environment(tmp_path, "http://127.0.0.1:4200")
    clients = {"PREFECT_CLIENT_MAX_RETRIES", "PREFECT_API_REQUEST_TIMEOUT"}
    assert clients <= client.keys() and not clients & server.keys()


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
