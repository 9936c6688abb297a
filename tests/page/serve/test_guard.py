"""The guard: hosts, other sites' pages, sizes and patience."""

import asyncio

import pytest
from tests.loops import run

from rnnlens.page.serve.guard import MOST_BODY, SAFE, Guard, RefusedError, check_origin

HOST = {b"host": "127.0.0.1:8000"}


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:8000",
        "localhost",
        "localhost:80",
        "LOCALHOST",
        "[::1]",
        "[::1]:8000",
    ],
)
def test_this_machine_may_be_named(host):
    check_origin({b"host": host})
    check_origin({b"host": host, b"origin": f"http://{host}"})


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil", "0.0.0.0",
     "[::2]:80", "127.0.0.1@evil", ":80"],
)  # fmt: skip
def test_other_names_are_refused(host):
    with pytest.raises(RefusedError, match=r"open it as 127\.0\.0\.1"):
        check_origin({b"host": host})
    with pytest.raises(RefusedError):
        check_origin({})


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "https://127.0.0.1:8000", "http://127.0.0.1:9000", ""]
)
def test_other_sites_pages_may_not_ask(origin):
    with pytest.raises(RefusedError, match="may not ask") as refused:
        check_origin({**HOST, b"origin": origin})
    assert refused.value.status == 403


def call(guard, messages, headers=(), wait=0.0):
    """What the guard sends when these messages come in, one every so many seconds."""
    sent = []

    async def receive():
        await asyncio.sleep(wait)
        return messages.pop(0) if messages else await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "headers": [(b"host", b"localhost"), *headers]}
    run(guard(scope, receive, send))
    return sent


def part(body, more=False):
    return {"type": "http.request", "body": body, "more_body": more}


async def echo(scope, receive, send):
    """Answers with what it was sent, and says when the client goes."""
    message = await receive()
    headers = [(b"content-security-policy", b"none at all"), (b"x-own", b"1")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": message["body"]})


def test_a_body_in_parts_arrives_whole_and_answers_are_safe():
    sent = call(Guard(echo), [part(b"ab", True), part(b"", True), part(b"c")])
    assert [message.get("body") for message in sent] == [None, b"abc"]
    headers = dict(sent[0]["headers"])
    assert headers[b"x-own"] == b"1"
    assert {k.decode(): v.decode() for k, v in headers.items() if k != b"x-own"} == SAFE


def test_large_answers_leave_in_parts():
    body = bytes(range(250)) * 600
    sent = call(Guard(echo), [part(body)])
    assert b"".join(message["body"] for message in sent[1:]) == body
    assert [message["more_body"] for message in sent[1:]] == [True, True, False]


@pytest.mark.parametrize(
    ("messages", "headers"),
    [
        ([part(b"x" * (MOST_BODY + 1))], []),
        ([part(b"x" * MOST_BODY, True), part(b"x")], []),
        ([], [(b"content-length", str(MOST_BODY + 1).encode())]),
    ],
)
def test_a_large_body_is_refused_without_reading_on(messages, headers):
    sent = call(Guard(echo), messages, headers)
    assert sent[0]["status"] == 413
    assert b"larger than 256 KB" in sent[1]["body"]
    assert (b"connection", b"close") in sent[0]["headers"]


def test_the_largest_body_is_taken():
    assert call(Guard(echo), [part(b"x" * MOST_BODY)])[0]["status"] == 200


@pytest.mark.parametrize("length", [b"many", b"-", b""])
def test_a_length_that_is_no_number(length):
    assert call(Guard(echo), [part(b"")], [(b"content-length", length)])[0]["status"] == 400


def test_a_body_that_drips_is_refused_in_time():
    sent = call(Guard(echo, arrival=0.1), [part(b"x", True)] * 50, wait=0.03)
    assert sent[0]["status"] == 408
    assert b"did not arrive within 0.1 s" in sent[1]["body"]


def test_a_client_who_goes_before_its_request_is_whole_is_forgotten():
    assert call(Guard(echo), [part(b"x", True), {"type": "http.disconnect"}]) == []


def test_an_answer_nobody_takes_is_dropped():
    async def never(message):
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    async def receive():
        return part(b"x")

    async def ended(scope, receive, send):
        try:
            await echo(scope, receive, send)
        finally:
            over.append(True)

    over: list[bool] = []
    scope = {"type": "http", "headers": [(b"host", b"localhost")]}
    run(Guard(ended, departure=0.05)(scope, receive, never))
    assert over == [True]
