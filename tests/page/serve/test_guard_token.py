"""A server with a token answers to those who have it, and tells others what is missing."""

import stat
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from starlette.testclient import TestClient

from rnnlens.page.serve.app import application
from rnnlens.page.serve.guard import forwarding

TOKEN = "f7-very_secret"
GRID = {"text": "the dog"}


@pytest.fixture
def client(formula):
    app = application({"formula": formula.subject}, TOKEN)
    with TestClient(app, "http://127.0.0.1:8000", follow_redirects=False) as client:
        yield client


@pytest.mark.parametrize("path", ["/", "/page.js", "/api/runs", "/api/openapi.json", "/nowhere"])
@pytest.mark.parametrize("given", ["", "?token=", "?token=f7-very_secreT", f"?token={TOKEN}2"])
def test_nothing_is_answered_without_it(client, path, given):
    answer = client.get(path + given)
    assert answer.status_code == 403
    assert "open the address that rnnlens printed" in answer.json()["error"]
    assert "set-cookie" not in answer.headers
    assert TOKEN not in answer.text


def test_people_are_told_in_a_page(client):
    answer = client.get("/", headers={"accept": "text/html,*/*"})
    assert answer.status_code == 403
    assert answer.headers["content-type"].startswith("text/html")
    assert "<p>This server wants a token; open the address" in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_the_address_leads_to_the_page_and_a_cookie_goes_on_from_there(client):
    answer = client.get(f"/?a=1&token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "http://127.0.0.1:8000/?a=1")
    cookie = answer.headers["set-cookie"].lower()
    assert cookie.startswith("rnnlens-8000=")  # another server on this machine keeps its own
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert client.get("/").status_code == 200
    assert client.post("/api/grid", json=GRID).status_code == 200


def test_a_question_with_it_in_the_address_keeps_its_body(client):
    assert client.post(f"/api/grid?token={TOKEN}", json=GRID).status_code == 200


def test_an_address_leads_nowhere_else(client):
    answer = client.get(f"//evil.example/?token={TOKEN}")
    assert answer.headers["location"].startswith("http://127.0.0.1:8000/")


def test_the_cookie_of_another_server_is_no_token(client):
    client.cookies.set("rnnlens-8001", TOKEN)
    assert client.get("/").status_code == 403


@pytest.mark.parametrize(
    ("header", "status"),
    [(f"Bearer {TOKEN}", 200), (f"bearer {TOKEN}", 200), ("Bearer ", 403), (f"Basic {TOKEN}", 403),
     ("Bearer \xe9", 403)],
)  # fmt: skip
def test_programs_send_it_in_a_header(client, header, status):
    sent = {"authorization": header.encode("latin-1")}
    assert client.post("/api/grid", json=GRID, headers=sent).status_code == status


def test_the_browser_is_led_there_by_a_file_that_others_cannot_read():
    with forwarding(f"http://127.0.0.1:8000/?token={TOKEN}") as address:
        path = Path(url2pathname(urlsplit(address).path))
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert f"url=http://127.0.0.1:8000/?token={TOKEN}" in path.read_text()
    assert not path.exists()
