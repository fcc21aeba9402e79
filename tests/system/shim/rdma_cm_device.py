"""Commands of rdma_user_cm.h to /dev/infiniband/rdma_cm, without librdmacm. Runs with the shim preloaded.

usage: rdma_cm_device.py CHECK [PORT]
"""
import ctypes
import errno
import fcntl
import mmap
import os
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading

import ports
from limits import LIMIT_S
from wait import until

PATH = "/dev/infiniband/rdma_cm"
CREATE, DESTROY, BIND_IP, RESOLVE_IP, QUERY_ROUTE, GET_EVENT, GET_OPTION, SET_OPTION = 0, 1, 2, 3, 5, 12, 13, 14
JOIN_IP, LEAVE, JOIN, MULTICAST_JOINED = 16, 17, 22, 12
LISTEN, QUERY, BIND, RESOLVE_ADDR = 7, 19, 20, 21
REJECT, DISCONNECT = 9, 10
TOS, REUSEADDR, AFONLY = 0, 1, 2  # options of ids
RESOLVE_ROUTE, CONNECT, ACCEPT, NOTIFY, MIGRATE = 4, 6, 8, 15, 18
CONNECT_REQUEST, CONNECT_RESPONSE, UNREACHABLE, REJECTED, ESTABLISHED = 4, 5, 7, 8, 9
CONSUMER_DEFINED, VENDOR_OPTION, SIDR_REJECT = 28, 35, 2  # reasons of events
COMM_EST, PATH_MIG = 4, 6  # events of queue pairs
AF_IB, SO_RCVBUFFORCE = 27, 33
IPOIB, TCP, UDP = 0x2, 0x106, 0x111


def command(fd, number, body, out=0):
    return os.write(fd, struct.pack("IHH", number, len(body), out) + body)


def fails(error, *arguments):
    found = error_of(lambda: command(*arguments))
    assert found == error, (found, arguments)


def error_of(call):
    try:
        call()
    except OSError as failure:
        return failure.errno
    return 0


def create(fd, uid=7, space=TCP):
    answer = ctypes.create_string_buffer(4)
    command(fd, CREATE, struct.pack("QQHB5x", uid, ctypes.addressof(answer), space, 2), 4)
    return struct.unpack("I", answer.raw)[0]


def ip(port, address="127.0.0.1"):
    if ":" in address:
        return struct.pack("=H", socket.AF_INET6) + struct.pack("!HI", port, 0) + socket.inet_pton(socket.AF_INET6, address) + bytes(4)
    return struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(address) + bytes(20)


def bind(fd, number, port, address="127.0.0.1"):
    command(fd, BIND_IP, struct.pack("Q", 0) + ip(port, address) + struct.pack("I", number))


def resolve(fd, number, port=9999):
    command(fd, RESOLVE_IP, resolution(number, ip(port)))


def resolution(number, peer, source=bytes(28)):
    return source + peer + struct.pack("II", number, 1000)


def get_event(fd):
    answer = ctypes.create_string_buffer(336)
    command(fd, GET_EVENT, struct.pack("Q", ctypes.addressof(answer)), 336)
    return struct.unpack("QIII", answer.raw[:20])


def readable(fd):
    return bool(select.select([fd], [], [], 0)[0])


def check_commands():
    with open("/sys/class/misc/rdma_cm/abi_version", encoding="ascii") as abi:
        assert abi.read() == "4\n"
    assert stat.S_ISCHR(os.stat(PATH).st_mode)
    fd = os.open(PATH, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    assert stat.S_ISCHR(os.fstat(fd).st_mode)
    one = create(fd, uid=41)
    fails(errno.EAGAIN, fd, GET_EVENT, struct.pack("Q", 1), 336)
    assert not readable(fd)
    resolve(fd, one)
    assert readable(fd)
    assert get_event(fd) == (41, one, 0, 0)
    assert not readable(fd)
    fails(errno.EINVAL, fd, RESOLVE_IP, bytes(28) + ip(1) + struct.pack("II", one, 1))
    fails(errno.ENOENT, fd, RESOLVE_IP, bytes(28) + ip(1) + struct.pack("II", 4711, 1))
    fails(errno.EPROTONOSUPPORT, fd, CREATE, struct.pack("QQHB5x", 1, 1, IPOIB, 4), 4)
    fails(errno.ENOSYS, fd, GET_OPTION, bytes(48))
    fails(errno.EINVAL, fd, 99, bytes(8))
    # Events that were not taken go with their id.
    two = create(fd)
    resolve(fd, two)
    answer = ctypes.create_string_buffer(4)
    command(fd, DESTROY, struct.pack("QII", ctypes.addressof(answer), two, 0), 4)
    assert answer.raw == bytes(4) and not readable(fd)
    command(fd, DESTROY, struct.pack("QII", ctypes.addressof(answer), one, 0), 4)
    assert answer.raw == struct.pack("I", 1)
    # Port spaces have ports of their own.
    port = ports.free()
    bind(fd, create(fd), port)
    bind(fd, create(fd, space=UDP), port)
    fails(errno.EADDRINUSE, fd, BIND_IP, struct.pack("Q", 0) + ip(port) + struct.pack("I", create(fd, space=UDP)))
    # An id for datagrams is bound to the number of another UDP socket, and cannot listen.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
        plain.bind(("127.0.0.1", 0))
        port = plain.getsockname()[1]
        number = create(fd, space=UDP)
        bind(fd, number, port)
        fails(errno.EADDRINUSE, fd, LISTEN, struct.pack("II", number, 0))
        for space in (UDP, TCP):
            fails(errno.EADDRINUSE, fd, BIND_IP, struct.pack("Q", 0) + ip(port) + struct.pack("I", create(fd, space=space)))
    # An id belongs to its channel.
    other = os.open(PATH, os.O_RDWR)
    three = create(fd)
    fails(errno.EINVAL, other, DESTROY, struct.pack("QII", ctypes.addressof(answer), three, 0), 4)
    # Other descriptors that cannot be written to keep their error.
    plain = os.open("/dev/null", os.O_RDONLY)
    fails(errno.EBADF, plain, CREATE, bytes(24), 4)


def group(address):
    return struct.pack("=HH", socket.AF_INET, 0) + socket.inet_aton(address) + bytes(20)


def join(fd, number, uid, address="239.1.2.3"):
    answer = ctypes.create_string_buffer(4)
    command(fd, JOIN_IP, struct.pack("QQ", ctypes.addressof(answer), uid) + group(address) + struct.pack("I", number), 4)
    return struct.unpack("I", answer.raw)[0]


def leave(fd, member):
    """The number of events that the membership reported."""
    answer = ctypes.create_string_buffer(4)
    command(fd, LEAVE, struct.pack("QII", ctypes.addressof(answer), member, 0), 4)
    return struct.unpack("I", answer.raw)[0]


def destroy(fd, number):
    """The number of events that the id reported."""
    answer = ctypes.create_string_buffer(4)
    command(fd, DESTROY, struct.pack("QII", ctypes.addressof(answer), number, 0), 4)
    return struct.unpack("I", answer.raw)[0]


def set_option(fd, number, name, value, size=4):
    value = ctypes.c_uint64(value)
    command(fd, SET_OPTION, struct.pack("QIIII", ctypes.addressof(value), number, 0, name, size))


def own_port(fd, number):
    answer = ctypes.create_string_buffer(288)
    command(fd, QUERY, struct.pack("QII", ctypes.addressof(answer), number, 0), 288)
    return struct.unpack_from("!H", answer.raw, 18)[0]


class Ids:
    """Ids of one channel, by the options that decide which ports they may have."""

    def __init__(self):
        self.fd = os.open(PATH, os.O_RDWR | os.O_NONBLOCK)

    def new(self, reusable=False, only=False):
        number = create(self.fd)
        if reusable:
            set_option(self.fd, number, REUSEADDR, 1)
        if only:
            set_option(self.fd, number, AFONLY, 1)
        return number

    def bound(self, port, address="127.0.0.1", **options):
        number = self.new(**options)
        bind(self.fd, number, port, address)
        return number

    def refuse(self, port, address="127.0.0.1", **options):
        body = struct.pack("Q", 0) + ip(port, address) + struct.pack("I", self.new(**options))
        fails(errno.EADDRINUSE, self.fd, BIND_IP, body)

    def listen(self, number):
        command(self.fd, LISTEN, struct.pack("II", number, 0))

    def refuse_listening(self, number, error=errno.EADDRINUSE):
        fails(error, self.fd, LISTEN, struct.pack("II", number, 0))


def share_ports_by_agreement_until_one_listens(ids):
    port = ports.free()
    first, second = ids.bound(port, reusable=True), ids.bound(port, reusable=True)
    ids.bound(port, "0.0.0.0", reusable=True)
    ids.refuse(port)
    ids.refuse(port, "0.0.0.0")
    for number in (first, second):
        ids.refuse_listening(number)
    port = ports.free()
    first, second = ids.bound(port, reusable=True), ids.bound(port, reusable=True)
    destroy(ids.fd, second)
    ids.listen(first)
    ids.refuse(port, reusable=True)
    ids.refuse(port, "0.0.0.0", reusable=True)
    ids.refuse_listening(first, errno.EINVAL)
    for value in (0, 1):
        assert error_of(lambda: set_option(ids.fd, first, REUSEADDR, value)) == errno.EINVAL


def share_a_port_once_its_id_agrees(ids):
    port = ports.free()
    first = ids.bound(port)
    ids.refuse(port, reusable=True)
    set_option(ids.fd, first, REUSEADDR, 1)
    ids.bound(port, reusable=True)


def refuse_ports_of_unspecified_addresses(ids):
    """Those of the other version of IP too, unless that is excluded."""
    port = ports.free()
    ids.bound(port, "0.0.0.0")
    ids.refuse(port)
    ids.refuse(port, "::")
    ids.bound(port, "::", only=True)
    ids.refuse(port, "::1")


def refuse_ports_of_sockets(ids):
    """A plain socket, of another process too, has what an id of it would have."""
    port = ports.free()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
        plain.bind(("127.0.0.1", port))
        ids.refuse(port, reusable=True)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        plain.bind(("127.0.0.1", port))
        ids.refuse(port)
        first = ids.bound(port, reusable=True)
        ids.refuse_listening(first)
    ids.listen(first)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        assert error_of(lambda: plain.bind(("127.0.0.1", port))) == errno.EADDRINUSE


def choose_free_ports(ids):
    """For any port, and for clients that are not bound."""
    chosen = [own_port(ids.fd, ids.bound(0, reusable=reusable)) for reusable in (False, True, True)]
    assert 0 not in chosen and len(set(chosen)) == len(chosen), chosen
    clients = [create(ids.fd), create(ids.fd)]
    for number in clients:
        resolve(ids.fd, number)
        event_of(ids.fd, 0)
    assert own_port(ids.fd, clients[0]) != own_port(ids.fd, clients[1]) != 0


def check_ports():
    """Which ids have a port beside others."""
    ids = Ids()
    share_ports_by_agreement_until_one_listens(ids)
    share_a_port_once_its_id_agrees(ids)
    refuse_ports_of_unspecified_addresses(ids)
    refuse_ports_of_sockets(ids)
    choose_free_ports(ids)


def check_routes():
    """An address without a route is the error of the command itself. The routes are those of the kernel's own sockets: in a world of
    its own the test has none but those of loopback."""
    fd = os.open(PATH, os.O_RDWR | os.O_NONBLOCK)
    for peer, source in (("127.0.0.1", ""), ("192.0.2.1", ""), ("2001:db8::1", ""), ("127.0.0.2", "127.0.0.1"),
                         ("192.0.2.1", "127.0.0.1"), ("2001:db8::1", "::1")):
        with socket.socket(socket.AF_INET6 if ":" in peer else socket.AF_INET, socket.SOCK_DGRAM) as plain:
            if source:
                plain.bind((source, 0))
            error = plain.connect_ex((peer, 9))
        number, before = create(fd, uid=8), create(fd, uid=9)
        wanted = resolution(number, ip(9999, peer), ip(0, source) if source else bytes(28))
        bound = resolution(before, ip(9999, peer))
        if source:
            bind(fd, before, 0, source)
        if error == 0:
            command(fd, RESOLVE_IP, wanted)
            assert event_of(fd, 0) == (8, number)
            command(fd, RESOLVE_IP, bound)
            assert event_of(fd, 0) == (9, before)
        else:
            fails(error, fd, RESOLVE_IP, wanted)
            fails(error, fd, RESOLVE_IP, bound)
        assert not readable(fd), (peer, source)
    # An id whose command has failed resolves another address.
    number = create(fd)
    fails(errno.EADDRNOTAVAIL, fd, BIND_IP, struct.pack("Q", 0) + ip(0, "192.0.2.77") + struct.pack("I", number))
    resolve(fd, number)
    assert get_event(fd)[1] == number
    # A source of the other version of IP.
    number = create(fd)
    bind(fd, number, 0)
    fails(errno.EINVAL, fd, RESOLVE_IP, resolution(number, ip(9999, "::1")))


def check_multicast():
    fd = os.open(PATH, os.O_RDWR | os.O_NONBLOCK)
    number, other = create(fd, uid=5, space=UDP), create(fd, space=TCP)
    fails(errno.EINVAL, fd, JOIN_IP, struct.pack("QQ", 8, 1) + group("239.1.2.3") + struct.pack("I", number))  # not bound
    bind(fd, number, 0)
    bind(fd, other, 0)
    for wrong in (group("10.1.2.3"), bytes(28)):
        fails(errno.EINVAL, fd, JOIN_IP, struct.pack("QQ", 8, 1) + wrong + struct.pack("I", number), 4)
    fails(errno.EINVAL, fd, JOIN_IP, struct.pack("QQ", 8, 1) + group("239.1.2.3") + struct.pack("I", other), 4)
    fails(errno.ENOENT, fd, JOIN_IP, struct.pack("QQ", 8, 1) + group("239.1.2.3") + struct.pack("I", 4711), 4)
    fails(errno.EFAULT, fd, JOIN_IP, struct.pack("QQ", 8, 1) + group("239.1.2.3") + struct.pack("I", number), 4)
    fails(errno.EINVAL, fd, JOIN, struct.pack("QQIHH", 8, 1, number, 16, 2) + group("239.1.2.3") + bytes(100), 4)  # flags
    fails(errno.ENOENT, fd, LEAVE, struct.pack("QII", 8, 4711, 0), 4)
    assert not readable(fd)
    member, second = join(fd, number, uid=77), join(fd, number, uid=78, address="224.0.0.9")
    assert get_event(fd) == (77, member, MULTICAST_JOINED, 0)
    assert leave(fd, member) == 1
    fails(errno.ENOENT, fd, LEAVE, struct.pack("QII", 8, member, 0), 4)
    assert readable(fd)
    assert leave(fd, second) == 0  # its event goes with it
    assert not readable(fd)
    # A membership goes with its id, which has reported the first one's event.
    third = join(fd, number, uid=79)
    assert destroy(fd, number) == 1 and not readable(fd)
    fails(errno.ENOENT, fd, LEAVE, struct.pack("QII", 8, third, 0), 4)
    # The event of a join counts for the id as long as it is a member, too.
    number = create(fd, uid=6, space=UDP)
    bind(fd, number, 0)
    member = join(fd, number, uid=80)
    assert get_event(fd) == (80, member, MULTICAST_JOINED, 0)
    assert destroy(fd, number) == 1


def event_of(fd, kind, status=0):
    """uid and id of the next event, which must be of that kind and status."""
    until(lambda: readable(fd), f"no event {kind}")
    uid, number, *found = get_event(fd)
    assert found == [kind, status], found
    return uid, number


def parameters(private_bytes=0):
    """Of a connection of queue pair 17, with so much private data, all zeros."""
    return struct.pack("II256x8B", 17, 0, private_bytes, 0, 1, 1, 0, 7, 7, 1)


def acceptance(server, private_bytes=0):
    return struct.pack("Q", 3) + parameters(private_bytes) + struct.pack("II", server, 0) + bytes(8)


def requesting(space=TCP):
    """A client that asks a listener for a connection: the channels of listener and client, and their ids."""
    listening, connecting = os.open(PATH, os.O_RDWR | os.O_NONBLOCK), os.open(PATH, os.O_RDWR | os.O_NONBLOCK)
    port = ports.free()
    listener, client = create(listening, uid=1, space=space), create(connecting, uid=2, space=space)
    bind(listening, listener, port)
    command(listening, LISTEN, struct.pack("II", listener, 8))
    resolve(connecting, client, port)
    event_of(connecting, 0)
    command(connecting, RESOLVE_ROUTE, struct.pack("II", client, 1000))
    event_of(connecting, 2)
    command(connecting, CONNECT, parameters() + struct.pack("II", client, 0) + bytes(8))
    return listening, connecting, listener, client


def requested(space=TCP):
    """A connection that waits for its server: the channels of server and client, and their ids."""
    listening, connecting, listener, client = requesting(space)
    uid, server = event_of(listening, CONNECT_REQUEST)
    assert uid == 1 and server not in (listener, client), (uid, server)
    return listening, connecting, server, client


def check_accept():
    """One that fails refuses the connection: its client does not wait for another decision."""
    listening, connecting, server, client = requested()
    fails(errno.EINVAL, listening, ACCEPT, acceptance(server, 255))
    assert event_of(connecting, REJECTED, CONSUMER_DEFINED) == (2, client)
    fails(errno.EINVAL, listening, ACCEPT, acceptance(server))
    listening, connecting, server, client = requested()
    command(listening, ACCEPT, acceptance(server))
    event_of(connecting, CONNECT_RESPONSE)  # or the second ACCEPT takes it back before it is sent
    fails(errno.EINVAL, listening, ACCEPT, acceptance(server))
    assert event_of(connecting, REJECTED, CONSUMER_DEFINED) == (2, client)
    listening, connecting, server, client = requested(UDP)
    fails(errno.EINVAL, listening, ACCEPT, acceptance(server, 137))
    assert event_of(connecting, UNREACHABLE, SIDR_REJECT) == (2, client)


def rejection(number, reason, private_bytes=0):
    return struct.pack("IBB2x256x", number, private_bytes, reason)


def check_refusals():
    """Commands that the kernel takes in every state, and values that it does not take."""
    listening, connecting, server, client = requested()
    disconnections = [(listening, struct.pack("I", server)), (connecting, struct.pack("I", client))]
    for fd, number in disconnections:  # not connected yet
        command(fd, DISCONNECT, number)
    for wrong in (rejection(server, CONSUMER_DEFINED, 149), rejection(server, 27)):
        fails(errno.EINVAL, listening, REJECT, wrong)
    command(listening, REJECT, rejection(server, VENDOR_OPTION))
    assert event_of(connecting, REJECTED, VENDOR_OPTION) == (2, client)
    fails(errno.EINVAL, listening, REJECT, rejection(server, 0))
    for fd, number in disconnections:  # and no more
        command(fd, DISCONNECT, number)
    assert not readable(listening) and not readable(connecting)
    fails(errno.EINVAL, connecting, DISCONNECT, struct.pack("I", create(connecting)))
    assert error_of(lambda: set_option(connecting, client, TOS, 8)) == errno.EINVAL
    set_option(connecting, client, TOS, 8, size=1)


def check_notify():
    """The first data may arrive before the RTU, or without it: a program that sees that of its queue pair tells the id."""
    listening, connecting, server, _ = requested()
    command(listening, ACCEPT, acceptance(server))
    event_of(connecting, CONNECT_RESPONSE)  # its client does not go on, so that there is no RTU
    fails(errno.ENOENT, listening, NOTIFY, struct.pack("II", 4711, COMM_EST))
    fails(errno.EINVAL, connecting, NOTIFY, struct.pack("II", server, COMM_EST))  # of another channel
    command(listening, NOTIFY, struct.pack("II", server, PATH_MIG))
    assert not readable(listening)
    command(listening, NOTIFY, struct.pack("II", server, COMM_EST))
    assert event_of(listening, ESTABLISHED) == (3, server)
    command(listening, NOTIFY, struct.pack("II", server, COMM_EST))  # established once
    assert not readable(listening)


def check_migration():
    """The events of an id that were not taken go with it to the new channel."""
    old, new = os.open(PATH, os.O_RDWR | os.O_NONBLOCK), os.open(PATH, os.O_RDWR | os.O_NONBLOCK)
    moving, staying = create(old, uid=11), create(old, uid=12)
    resolve(old, moving)
    resolve(old, staying)
    answer = ctypes.create_string_buffer(4)

    def migrate(number, source):
        return struct.pack("QII", ctypes.addressof(answer), number, source)

    fails(errno.ENOENT, new, MIGRATE, migrate(4711, old), 4)
    with open("/dev/null", "rb") as plain:
        fails(errno.EINVAL, new, MIGRATE, migrate(moving, plain.fileno()), 4)
        closed = plain.fileno()
    fails(errno.ENOENT, new, MIGRATE, migrate(moving, closed), 4)
    command(new, MIGRATE, migrate(moving, old), 4)
    assert answer.raw == bytes(4)  # events that it had reported before
    assert event_of(new, 0) == (11, moving) and not readable(new)
    assert event_of(old, 0) == (12, staying) and not readable(old)
    fails(errno.EINVAL, old, DESTROY, struct.pack("QII", ctypes.addressof(answer), moving, 0), 4)
    assert destroy(new, moving) == 1


def check_infiniband():
    """Addresses of InfiniBand, whose answer is the one by which librdmacm learns that there are none."""
    fd = os.open(PATH, os.O_RDWR | os.O_NONBLOCK)
    gid = (struct.pack("=HHI", AF_IB, 0xFFFF, 0) + socket.inet_pton(socket.AF_INET6, "fe80::1") + bytes(24)).ljust(128, b"\0")
    for space in (TCP, UDP):
        number = create(fd, space=space)
        fails(errno.EAFNOSUPPORT, fd, BIND, struct.pack("IHH", number, 48, 0) + gid)
        fails(errno.EAFNOSUPPORT, fd, BIND_IP, struct.pack("Q", 0) + gid[:28] + struct.pack("I", number))
        fails(errno.EAFNOSUPPORT, fd, RESOLVE_IP, bytes(28) + gid[:28] + struct.pack("II", number, 1000))
        fails(errno.EAFNOSUPPORT, fd, RESOLVE_ADDR, struct.pack("IIHHI", number, 1000, 0, 48, 0) + bytes(128) + gid)
        resolve(fd, number)  # by IP it still can be
        assert get_event(fd)[:3] == (7, number, 0)


def check_pointers():
    fd = os.open(PATH, os.O_RDWR | os.O_NONBLOCK)
    nowhere = 8
    fails(errno.EFAULT, fd, CREATE, struct.pack("QQHB5x", 1, nowhere, TCP, 2), 4)
    fails(errno.EFAULT, fd, CREATE, struct.pack("QQHB5x", 1, 0, TCP, 2), 4)
    number = create(fd, uid=9)
    for command_, body, out in ((QUERY_ROUTE, struct.pack("QII", nowhere, number, 0), 272),
                                (SET_OPTION, struct.pack("QIIII", nowhere, number, 0, 1, 4), 0)):
        fails(errno.EFAULT, fd, command_, body, out)
    resolve(fd, number)
    fails(errno.EFAULT, fd, GET_EVENT, struct.pack("Q", nowhere), 336)
    assert readable(fd) and get_event(fd) == (9, number, 0, 0)  # it has not been taken
    libc = ctypes.CDLL(None, use_errno=True)
    for size in (8, 100):  # the command itself
        assert libc.write(fd, ctypes.c_void_p(nowhere), ctypes.c_size_t(size)) == -1
        assert ctypes.get_errno() == errno.EFAULT
    # A command whose end is on a page that cannot be read.
    page = mmap.PAGESIZE
    libc.mmap.restype = ctypes.c_void_p
    at = libc.mmap(None, ctypes.c_size_t(2 * page), mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
                   -1, ctypes.c_size_t(0))
    assert libc.mprotect(ctypes.c_void_p(at + page), ctypes.c_size_t(page), 0) == 0
    ctypes.memmove(at + page - 8, struct.pack("IHH", CREATE, 24, 4), 8)
    assert libc.write(fd, ctypes.c_void_p(at + page - 8), ctypes.c_size_t(32)) == -1
    assert ctypes.get_errno() == errno.EFAULT


def check_errno():
    """A command that succeeds leaves errno as it was, and one that fails sets it to its error."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open(PATH, os.O_RDWR | os.O_NONBLOCK)
    answer = ctypes.create_string_buffer(336)
    at = ctypes.addressof(answer)

    def errno_after(number, body, out=0):
        written = struct.pack("IHH", number, len(body), out) + body
        ctypes.set_errno(errno.ERANGE)
        assert libc.write(fd, written, ctypes.c_size_t(len(written))) in (-1, len(written))
        return ctypes.get_errno()

    def new_id():
        assert errno_after(CREATE, struct.pack("QQHB5x", 7, at, TCP, 2), 4) == errno.ERANGE
        return struct.unpack_from("I", answer.raw)[0]

    port = ports.free()
    one, two, three = new_id(), new_id(), new_id()
    reusable = ctypes.c_int(1)
    assert errno_after(SET_OPTION, struct.pack("QIIII", ctypes.addressof(reusable), three, 0, 1, 4)) == errno.ERANGE
    assert errno_after(BIND_IP, struct.pack("Q", 0) + ip(port) + struct.pack("I", one)) == errno.ERANGE
    assert errno_after(LISTEN, struct.pack("II", one, 0)) == errno.ERANGE
    assert errno_after(BIND_IP, struct.pack("Q", 0) + ip(port) + struct.pack("I", two)) == errno.EADDRINUSE
    assert errno_after(RESOLVE_IP, bytes(28) + ip(port) + struct.pack("II", two, 1000)) == errno.ERANGE
    assert errno_after(GET_EVENT, struct.pack("Q", at), 336) == errno.ERANGE
    assert errno_after(GET_EVENT, struct.pack("Q", at), 336) == errno.EAGAIN
    assert errno_after(DESTROY, struct.pack("QII", at, two, 0), 4) == errno.ERANGE
    assert errno_after(DESTROY, struct.pack("QII", at, two, 0), 4) == errno.ENOENT
    status = ctypes.create_string_buffer(512)
    ctypes.set_errno(errno.ERANGE)
    assert libc.fstat(fd, status) == 0 and ctypes.get_errno() == errno.ERANGE


def check_descriptor():
    fd = os.open(PATH, os.O_RDWR)
    os.set_inheritable(fd, True)
    assert fcntl.fcntl(os.open(PATH, os.O_RDWR | os.O_CLOEXEC), fcntl.F_GETFD) & fcntl.FD_CLOEXEC
    copy = os.dup(fd)
    number = create(fd, uid=5)
    resolve(copy, number)
    os.close(fd)
    assert readable(copy) and get_event(copy) == (5, number, 0, 0)
    assert create(copy) != number


def check_child():
    fd = os.open(PATH, os.O_RDWR)
    resolve(fd, create(fd))
    child = os.fork()
    if child == 0:
        try:
            fails(errno.EBADF, fd, CREATE, bytes(24), 4)
            own = os.open(PATH, os.O_RDWR)
            mine = create(own, uid=6)
            resolve(own, mine)
            os._exit(0 if get_event(own) == (6, mine, 0, 0) else 1)
        except BaseException as failure:  # the parent's frames must not run
            print(repr(failure), flush=True)
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert readable(fd)


def check_close():
    fd = os.open(PATH, os.O_RDWR)
    copy = os.dup(fd)
    port = ports.free()
    bind(fd, create(fd), port)
    os.close(fd)
    assert ports.bound(port)
    os.close(copy)
    until(lambda: not ports.bound(port), "the port is still bound")
    # A listener takes the id of a connection with it that was not reported.
    listening, connecting, _, client = requesting()
    until(lambda: readable(listening), "no request")
    os.close(listening)
    assert event_of(connecting, REJECTED, CONSUMER_DEFINED) == (2, client)


def sleeps(thread):
    with open(f"/proc/self/task/{thread.native_id}/stat", encoding="ascii") as state:
        return state.read().rpartition(")")[2].split()[0] == "S"


def check_waiting():
    fd = os.open(PATH, os.O_RDWR)
    copy = os.dup(fd)
    number = create(fd, uid=7)
    events = []
    waits = threading.Thread(target=lambda: events.append(get_event(fd)), daemon=True)
    waits.start()
    until(lambda: sleeps(waits), "the thread does not wait")
    os.close(fd)
    resolve(copy, number)
    waits.join(LIMIT_S)
    assert events == [(7, number, 0, 0)], events


def check_listening(port):
    """For others, which it tells; until it is killed."""
    fd = os.open(PATH, os.O_RDWR | os.O_CLOEXEC)
    number = create(fd)
    bind(fd, number, int(port))
    command(fd, LISTEN, struct.pack("II", number, 1024))
    print("listening", flush=True)
    signal.pause()


def is_stopped(process):
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as state:
        return state.read().rsplit(")", 1)[1].split()[0] == "T"


def check_burst():
    """A listener that is stopped while many clients greet it answers all of them afterwards. [CM-LIM-4]"""
    hello = struct.Struct("!2sBB4xQQ8x")
    port = ports.free()
    with subprocess.Popen([sys.executable, "-B", __file__, "listening", str(port)], stdout=subprocess.PIPE) as server, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        try:
            own.settimeout(LIMIT_S)
            clients = 1000
            try:  # root of a user namespace may not
                own.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 20)
            except PermissionError:
                clients = 400  # as many as fit into the largest buffer of a usual system
                own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            own.connect(("127.0.0.1", port))
            assert server.stdout.readline() == b"listening\n"
            server.send_signal(signal.SIGSTOP)
            until(lambda: is_stopped(server), "the server does not stop")
            for number in range(1, clients + 1):
                own.send(hello.pack(b"MC", 1, 1, number, 0))
            server.send_signal(signal.SIGCONT)
            answered = set()
            while len(answered) < clients:
                answered.add(struct.unpack_from("!Q", own.recv(512), 16)[0])
        finally:
            server.kill()
    assert answered == set(range(1, clients + 1))


if __name__ == "__main__":
    globals()["check_" + sys.argv[1]](*sys.argv[2:])
    print("passed")
