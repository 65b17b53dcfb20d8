"""Which addresses are refused: the cases with a made-up name server, and forms that hide an address."""

import json
import socket
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
import ssrf_urls

from backend.errors import FetchError, FetchRetryable, NanoClawError, SsrfViolation
from backend.net import Fetcher, FetchSettings
from backend.net.lifeline import Lifeline
from backend.net.ssrf import AddressPolicy, is_public, parse_allow
from backend.net.urls import parse

PUBLIC = ssrf_urls.PUBLIC
MORE = json.loads((Path(__file__).parent / "cases" / "more_ssrf_urls.json").read_text(encoding="utf-8"))
MORE_NAMES = {name: [answers] for name, answers in MORE["dns"].items()}


def checked(url: str, allow: str = "", own_ports: set[int] | None = None) -> list[str]:
    with Lifeline(5.0) as life:
        policy = AddressPolicy(parse_allow(allow), own_ports or set())
        return [str(address) for address in policy.addresses(parse(url), life)]


@pytest.mark.parametrize(("url", "why"), [(url, why) for _, url, why in ssrf_urls.REFUSE])
def test_a_private_address_is_refused_and_nothing_is_dialled(url: str, why: str) -> None:
    with ssrf_urls.patched() as net, pytest.raises(FetchError) as caught:
        Fetcher().fetch(url)
    assert net.connects == [], why
    assert not caught.value.retryable


@pytest.mark.parametrize(("url", "ip"), [(url, ip) for _, url, ip, _ in ssrf_urls.ALLOW])
def test_a_public_address_is_dialled_as_it_was_checked(url: str, ip: str) -> None:
    port = parse(url).port
    with ssrf_urls.patched() as net, pytest.raises(FetchRetryable):
        Fetcher().fetch(url)
    assert net.connects == [(ip, port)]


@pytest.mark.parametrize("url", MORE["refuse"], ids=ascii)
def test_another_way_to_write_a_private_address_is_refused(url: str) -> None:
    with ssrf_urls.patched(MORE_NAMES) as net, pytest.raises(FetchError) as caught:
        Fetcher().fetch(url)
    assert net.connects == []
    assert not caught.value.retryable


@pytest.mark.parametrize("url", MORE["allow"], ids=ascii)
def test_another_way_to_write_a_public_address_is_dialled(url: str) -> None:
    with ssrf_urls.patched(MORE_NAMES) as net, pytest.raises(FetchRetryable):
        Fetcher().fetch(url)
    assert len(net.connects) >= 1
    assert all(is_public(ip_address(ip)) for ip, _ in net.connects)


@pytest.mark.parametrize(("url", "answers"), [(url, answers) for _, url, answers, _ in ssrf_urls.REBIND])
def test_a_name_that_changes_its_answer_leads_nowhere_unchecked(url: str, answers: list[list[str]]) -> None:
    with ssrf_urls.patched() as net:
        for _ in range(3):
            with pytest.raises(NanoClawError):
                Fetcher(FetchSettings(obey_robots=False)).fetch(url)
    assert {ip for ip, _ in net.connects} == {PUBLIC}
    assert len(net.lookups) == 3


def test_ports_of_other_protocols_and_credentials_are_refused() -> None:
    for _, url, why in ssrf_urls.POLICY:
        with ssrf_urls.patched() as net, pytest.raises(SsrfViolation):
            Fetcher().fetch(url)
        assert net.connects == [], why


@pytest.mark.parametrize(
    "address",
    [
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "::ffff:0:127.0.0.1",
        "::127.0.0.1",
        "fec0::1",
        "ff02::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:db8::1",
        "3fff::1",
        "100::1",
        "fd00:ec2::254",
        "2606:4700::5efe:10.0.0.1",
        "224.0.0.1",
        "168.63.129.16",
        "192.0.0.192",
        "192.88.99.1",
        "100.64.0.1",
        "240.0.0.1",
    ],
)
def test_an_address_that_python_may_call_global_is_not_public(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        "http://[64:ff9b::7f00:1]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[::ffff:10.0.0.1]/",
        "http://[fe80::1%25lo]/",
        "http://[::1%25eth0]/",
        "http://１２７.0.0.1/",
        "http://①②⑦.0.0.1/",
        "http://127。0。0。1/",
        "http://127.0.0.1./",
        "http://localhost./",
        "http://0x7f.1/",
        "http://0/",
        "http://127.0.0.%31/",
        "http://www.example.com\\@127.0.0.1/",
        "http://127.0.0.1\\.www.example.com/",
        "http://127.0.0.1#@www.example.com/",
        "http://127.0.0.1?@www.example.com/",
        "http://www.example.com:80@127.0.0.1/",
        "http:127.0.0.1/",
        "http:/127.0.0.1/",
        "http://127.0.0.1\t/",
        "http://127.0.0.1\r\nHost: x/",
        "http://www.example.com:0/",
        "http://www.example.com:99999/",
        "http://www.example.com:8x/",
        "http://[127.0.0.1]/",
        "http://[::1]evil.com/",
        "http://a b/",
        "http://" + "a" * 300 + ".com/",
        "http://" + "a." * 200 + "com/",
        "https://",
        "//www.example.com/",
        "localhost:8000",
        "http://-/",
        "http://*/",
        "http://www..example.com/",
        "blob:http://www.example.com/x",
        "view-source:http://www.example.com/",
        "HTTP://127.0.0.1/",
        "http://xn--/",
        "http://\u202ewww.example.com/",
        "http://www.exam\u00adple.com.127.0.0.1/",
    ],
)
def test_a_disguised_address_never_leads_to_a_connection(url: str) -> None:
    with ssrf_urls.patched() as net, pytest.raises(FetchError) as caught:
        Fetcher().fetch(url)
    assert net.connects == []
    assert not caught.value.retryable


def test_one_private_answer_among_public_ones_refuses_the_name() -> None:
    with ssrf_urls.patched({"mixed.example.com": [[PUBLIC, "10.0.0.7"]]}) as net, pytest.raises(SsrfViolation):
        Fetcher().fetch("http://mixed.example.com/")
    assert net.connects == []


def test_every_form_of_a_public_address_is_read_the_same() -> None:
    with ssrf_urls.patched():
        assert checked("http://中文.example.com/") == [PUBLIC]
        assert checked("http://xn--fiq228c.example.com./") == [PUBLIC]
        assert checked("http://[::ffff:1.1.1.1]/") == ["1.1.1.1"]
        assert checked("http://[64:ff9b::101:101]/") == ["64:ff9b::101:101"]


class TestAllowed:
    """NANOCLAW_FETCH_ALLOW."""

    @pytest.fixture(autouse=True)
    def names(self) -> Iterator[None]:
        with ssrf_urls.patched():
            yield

    @pytest.mark.parametrize(
        ("allow", "url"),
        [
            ("127.0.0.1", "http://127.0.0.1:8080/"),
            ("127.0.0.0/8", "http://127.1.2.3/"),
            ("inside.example.com", "http://inside.example.com/"),
            ("inside.example.com:8080", "http://inside.example.com:8080/"),
            ("10.0.0.0/8", "http://inside.example.com/"),
            ("[::1]:8080", "http://[::1]:8080/"),
            ("::1", "http://[::1]/"),
            ("fd00::/8", "http://[fd00::1]/"),
            ("other, 10.1.2.3:25", "http://10.1.2.3:25/"),
        ],
    )
    def test_lets_what_it_names_through(self, allow: str, url: str) -> None:
        assert checked(url, allow)

    @pytest.mark.parametrize(
        ("allow", "url"),
        [
            ("127.0.0.1", "http://127.0.0.2/"),
            ("127.0.0.1:8080", "http://127.0.0.1:8081/"),
            ("inside.example.com", "http://10.1.2.3/"),
            ("inside.example.com", "http://loop.example.com/"),
            ("0.0.0.0/0 ::/0", "http://169.254.169.254/"),
            ("0.0.0.0/0 ::/0", "http://[::ffff:a9fe:a9fe]/"),
            ("0.0.0.0/0 ::/0", "http://[64:ff9b::a9fe:a9fe]/"),
            ("0.0.0.0/0 ::/0", "http://[fd00:ec2::254]/"),
            ("0.0.0.0/0", "http://100.100.100.200/"),
            ("169.254.169.254", "http://169.254.169.254/"),
            ("169.254.169.254", "http://2852039166/"),
            ("meta.example.com", "http://meta.example.com/"),
            ("10.0.0.0/8", "http://10.1.2.3:25/"),
        ],
    )
    def test_lets_nothing_else_through(self, allow: str, url: str) -> None:
        with pytest.raises(SsrfViolation):
            checked(url, allow)

    @pytest.mark.parametrize("url", ["http://127.0.0.1:8123/", "http://localhost:8123/", "http://[::1]:8123/"])
    def test_never_opens_nanoclaws_own_port(self, url: str) -> None:
        with pytest.raises(SsrfViolation):
            checked(url, "0.0.0.0/0 ::/0 localhost:8123", {8123})
        assert checked(url.replace("8123", "8124"), "0.0.0.0/0 ::/0", {8123})

    @pytest.mark.parametrize("text", ["10.0.0.0/99", "host:port", "host:0", "host:70000", "[::1", "a/b", ":80"])
    def test_names_the_entry_that_is_wrong(self, text: str) -> None:
        with pytest.raises(ValueError, match="NANOCLAW_FETCH_ALLOW"):
            parse_allow(text)


def test_an_unreachable_name_server_is_worth_a_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_server(*_: Any, **__: Any) -> list[Any]:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", no_server)
    with pytest.raises(FetchRetryable, match="internet access"):
        Fetcher().fetch("http://www.example.com/")
