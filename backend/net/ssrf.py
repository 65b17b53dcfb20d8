"""Which addresses may be contacted: names are resolved once, and every address is checked against our own list."""

import socket
import threading
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from ..errors import FetchError, FetchRetryable, SsrfViolation
from .lifeline import Lifeline
from .urls import DEFAULT_PORTS, Target

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

MAX_ADDRESSES = 32
MAX_STUCK_LOOKUPS = 64

# The IANA special-purpose registry, written out: Python's is_global lets multicast, NAT64 and 6to4 through.
PRIVATE_V4 = tuple(
    IPv4Network(text)
    for text in [
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "168.63.129.16/32",
    ]
)
PUBLIC_V6 = IPv6Network("2000::/3")
PRIVATE_V6 = tuple(
    IPv6Network(text) for text in ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"]
)
NAT64 = IPv6Network("64:ff9b::/96")
ISATAP_MARKS = (0x00005EFE, 0x02005EFE)

# Where clouds keep credentials and instance data: refused whatever the owner allows.
METADATA: tuple[Network, ...] = (
    IPv4Network("169.254.0.0/16"),
    IPv4Network("100.100.100.200/32"),
    IPv4Network("168.63.129.16/32"),
    IPv4Network("192.0.0.192/32"),
    IPv6Network("fd00:ec2::/64"),
    IPv6Network("fd20:ce::254/128"),
    IPv6Network("fe80::a9fe:a9fe/128"),
)

# Ports that browsers refuse too (Fetch standard), since other protocols can be spoken to by a crafted request.
# fmt: off
BLOCKED_PORTS = frozenset((
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
    110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530,
    531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190,
    5060, 5061, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211,
))
# fmt: on

_Info = tuple[Any, Any, Any, Any, tuple[Any, ...]]

LOCAL_SUFFIXES = (".local", ".localhost", ".internal", ".lan", ".home.arpa", ".intranet", ".corp")

_lookups = threading.BoundedSemaphore(MAX_STUCK_LOOKUPS)


@dataclass(frozen=True, slots=True)
class AllowEntry:
    """One exception the owner made: a host name or a network, on one port or (None) on any."""

    host: str | None
    network: Network | None
    port: int | None

    def covers(self, host: str, address: Address | None, port: int) -> bool:
        """True if a connection to `address` for `host` is what the owner allowed."""
        if self.port is not None and self.port != port:
            return False
        if self.network is None:
            return host == self.host
        return address is not None and address.version == self.network.version and address in self.network


@dataclass(slots=True)
class AddressPolicy:
    """The rule for addresses. `own_ports` are the ports that NanoClaw itself listens on."""

    allow: tuple[AllowEntry, ...] = ()
    own_ports: set[int] = field(default_factory=set)

    def addresses(self, target: Target, life: Lifeline) -> list[Address]:
        """Resolve the target once and return its addresses, all of them checked.

        Raises SsrfViolation if any address is refused, FetchError if there is no such host, FetchRetryable if
        names cannot be resolved now.
        """
        self.check_port(target)
        found = _resolve(target, life)
        for address in found:
            self.check(target, address)
        return found

    def check_behind_proxy(self, target: Target, life: Lifeline) -> None:
        """The same for a request that the owner's proxy will make; a name only the proxy can resolve passes."""
        try:
            self.addresses(target, life)
        except SsrfViolation:
            raise
        except FetchError:
            life.check()
            if "." not in target.host or target.host.endswith(LOCAL_SUFFIXES):
                raise SsrfViolation(f"{target.host!r} is a local name; local addresses are not fetched.") from None

    def check_port(self, target: Target) -> None:
        """Refuse ports that are not for the web, unless the owner allowed that very port."""
        if target.port not in BLOCKED_PORTS or target.port in DEFAULT_PORTS.values():
            return
        if not any(entry.port == target.port for entry in self.allow):
            raise SsrfViolation(f"Port {target.port} is not a port for web pages.")

    def check(self, target: Target, address: Address) -> None:
        """SsrfViolation unless `address` may be contacted for `target`."""
        if isinstance(address, IPv6Address) and address in NAT64:  # leads to the IPv4 address inside
            address = IPv4Address(int(address) & 0xFFFFFFFF)
        if any(address.version == net.version and address in net for net in METADATA):
            raise SsrfViolation(f"{target.host!r} leads to a machine metadata address, which is never fetched.")
        if target.port in self.own_ports and is_this_machine(address):
            raise SsrfViolation(f"{target.authority!r} is NanoClaw itself, which is never fetched.")
        if is_public(address) or any(e.covers(target.host, address, target.port) for e in self.allow):
            return
        raise SsrfViolation(
            f"{target.host!r} is not a public internet address; private and local addresses are not fetched.",
            suggestion="Use a public address. The owner can allow a private one with NANOCLAW_FETCH_ALLOW.",
        )


def is_public(address: Address) -> bool:
    """True only for addresses that belong to the public internet."""
    if isinstance(address, IPv4Address):
        return not any(address in net for net in PRIVATE_V4)
    if address not in PUBLIC_V6 or any(address in net for net in PRIVATE_V6):
        return False
    isatap = (int(address) >> 32) & 0xFFFFFFFF in ISATAP_MARKS
    return not isatap or is_public(IPv4Address(int(address) & 0xFFFFFFFF))


def is_this_machine(address: Address) -> bool:
    """True for loopback, the unspecified address, and any address an interface here has."""
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True


def unwrap(address: Address) -> Address:
    """The IPv4 address inside an IPv4-mapped one; others as they are."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def parse_allow(text: str) -> tuple[AllowEntry, ...]:
    """NANOCLAW_FETCH_ALLOW: hosts, CIDRs, `host:port`, `[v6]:port`, between commas or spaces.

    Raises ValueError that names the entry which is neither.
    """
    return tuple(_allow_entry(part) for part in text.replace(",", " ").split())


def _allow_entry(part: str) -> AllowEntry:
    host, port = part.lower(), None
    if host.startswith("[") and "]" in host:
        host, _, rest = host[1:].partition("]")
        port = _port(rest.removeprefix(":"), part) if rest else None
    elif host.count(":") == 1:
        host, _, rest = host.partition(":")
        port = _port(rest, part)
    try:
        return AllowEntry(None, ip_network(host, strict=False), port)
    except ValueError:
        if not host or "/" in host or ":" in host:
            raise ValueError(f"NANOCLAW_FETCH_ALLOW: {part!r} is no host, network or host:port") from None
        return AllowEntry(host.removesuffix("."), None, port)


def _port(text: str, part: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65536:
        raise ValueError(f"NANOCLAW_FETCH_ALLOW: {part!r} has no valid port")
    return int(text)


def _resolve(target: Target, life: Lifeline) -> list[Address]:
    try:
        return [unwrap(ip_address(target.host))]
    except ValueError:
        pass
    infos = _lookup(target, life)
    found: dict[Address, None] = {}
    for info in infos[:MAX_ADDRESSES]:
        text = str(info[4][0])
        if "%" in text:
            raise SsrfViolation(f"{target.host!r} leads to a link-local address.")
        found[unwrap(ip_address(text))] = None
    if not found:
        raise FetchError(f"The host {target.host!r} has no address.")
    return list(found)


def _lookup(target: Target, life: Lifeline) -> list[_Info]:
    """getaddrinfo on a thread that can be left behind: the C library's resolver cannot be interrupted."""
    if not _lookups.acquire(blocking=False):
        raise FetchRetryable("Too many name look-ups are waiting for an answer.")
    box: list[list[_Info] | OSError | UnicodeError] = []
    done = threading.Event()

    def look() -> None:
        try:
            box.append(list(socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)))
        except (OSError, UnicodeError) as error:
            box.append(error)
        finally:
            _lookups.release()
            done.set()

    threading.Thread(target=look, name="net-lookup", daemon=True).start()
    life.wait(done)
    answer = box[0] if box else OSError()
    if isinstance(answer, list):
        return answer
    raise _no_address(target, answer) from answer


def _no_address(target: Target, error: OSError | UnicodeError) -> FetchError:
    temporary = isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN
    if temporary:
        return FetchRetryable(
            f"The name {target.host!r} cannot be looked up now: no answer from the name server. "
            "This machine may be without internet access."
        )
    return FetchError(
        f"No address was found for {target.host!r}.",
        suggestion="Check the spelling. If other addresses fail too, this machine may be without internet access.",
        no_address=True,
    )
