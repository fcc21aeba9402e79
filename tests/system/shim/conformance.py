"""Every verb that the shim claims, by pyverbs of rdma-core, against two queue pairs of one process.

Each function check_* is one group; the name of each that passes is printed. Run with the shim preloaded.
"""
import ctypes
import errno
import os
import sys

import pyverbs.cm_enums as ce
import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr, GlobalRoute
from pyverbs.base import PyverbsRDMAErrno
from pyverbs.cmid import CMID, AddrInfo, CMEvent, CMEventChannel, ConnParam
from pyverbs.cq import CQ, CQEX, CompChannel, CqInitAttrEx, PollCqAttr
from pyverbs.device import Context, get_device_list
from pyverbs.mr import MR, MW
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPEx, QPInitAttr, QPInitAttrEx
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

import ports

DEVICE = "mrc0"
ALL = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC
SIZE = 1 << 16


def fails(number, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except PyverbsRDMAError as failure:
        assert number is None or failure.error_code == number, (call, failure, failure.error_code)
        return
    except PyverbsError:
        return
    raise AssertionError(f"{call} {args} did not fail")


class End:
    """A queue pair with its completion queue and a registered buffer."""

    def __init__(self, ctx, pd, srq=None, depth=16, access=ALL, qp_type=e.IBV_QPT_RC, channel=None, sge=2, cq=None):
        self.ctx, self.pd, self.access = ctx, pd, access
        self.cq = cq or CQ(ctx, 64, None, channel, 0)
        self.mr = MR(pd, SIZE, ALL)
        cap = QPCap(max_send_wr=depth, max_recv_wr=depth, max_send_sge=sge, max_recv_sge=sge, max_inline_data=64)
        self.qp = QP(pd, QPInitAttr(qp_type=qp_type, scq=self.cq, rcq=self.cq, srq=srq, cap=cap, sq_sig_all=0))

    def connect(self, other, rnr_retry=7, min_rnr_timer=1, rtr_only=False):
        gid = self.ctx.query_gid(1, 3)
        attr = QPAttr(qp_state=e.IBV_QPS_INIT, port_num=1)
        attr.qp_access_flags = self.access
        attr.path_mtu = e.IBV_MTU_4096
        attr.dest_qp_num = other.qp.qp_num
        attr.rq_psn, attr.sq_psn = other.qp.qp_num & 0xfff, self.qp.qp_num & 0xfff
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 4
        attr.min_rnr_timer, attr.timeout, attr.retry_cnt, attr.rnr_retry = min_rnr_timer, 14, 7, rnr_retry
        attr.ah_attr = AHAttr(is_global=1, port_num=1, gr=GlobalRoute(dgid=gid, sgid_index=3, hop_limit=64))
        (self.qp.to_rtr if rtr_only else self.qp.to_rts)(attr)

    def sge(self, length, offset=0):
        return SGE(self.mr.buf + offset, length, self.mr.lkey)

    def recv(self, wr_id, length=SIZE, offset=0):
        self.qp.post_recv(RecvWR(wr_id=wr_id, num_sge=1, sg=[self.sge(length, offset)]))

    def send(self, wr_id, opcode, length, flags=e.IBV_SEND_SIGNALED, remote=None, rkey=None, imm=0, offset=0, addr=None,
             atomic=None):
        wr = SendWR(wr_id=wr_id, opcode=opcode, num_sge=1, sg=[self.sge(length, offset)], send_flags=flags, imm_data=imm)
        if remote is not None or rkey is not None:
            key = rkey if rkey is not None else remote.mr.rkey
            where = addr if addr is not None else remote.mr.buf
            if atomic is None:
                wr.set_wr_rdma(key, where)
            else:
                wr.set_wr_atomic(key, where, *atomic)
        self.qp.post_send(wr)

    def wait(self, n=1):
        found = []
        while len(found) < n:
            found += self.cq.poll(n - len(found))[1]
        return found[0] if n == 1 else found


def pair(ctx, pd, **more):
    a, b = End(ctx, pd, **more), End(ctx, pd, **more)
    a.connect(b)
    b.connect(a)
    return a, b


def status(wc, expected):
    assert wc.status == expected, (wc.status, expected, wc)


def check_device(ctx, pd):
    """[VRB-DEV-2]"""
    assert DEVICE in [d.name.decode() for d in get_device_list()]
    attr = ctx.query_device()
    assert attr.max_qp > 1000 and attr.max_qp_wr >= 8192 and attr.max_sge >= 6
    assert attr.phys_port_cnt == 1 and attr.max_qp_rd_atom == 16
    ctx.query_device_ex()
    port = ctx.query_port(1)
    assert port.state == e.IBV_PORT_ACTIVE and port.link_layer == e.IBV_LINK_LAYER_ETHERNET and port.gid_tbl_len >= 4
    fails(None, ctx.query_port, 2)
    table = ctx.query_gid_table(16)
    assert all(entry.gid_type == e.IBV_GID_TYPE_ROCE_V2 for entry in table) and 3 in [entry.gid_index for entry in table]
    assert ctx.query_gid_ex(1, 3).gid_index == 3
    fails(errno.ENODATA, ctx.query_gid_ex, 1, 2)
    assert ctx.query_gid_type(1, 3) == e.IBV_GID_TYPE_SYSFS_ROCE_V2
    assert ctx.query_pkey(1, 0) == 0xffff


def check_memory(ctx, pd):
    for access in (0, 1, 3, 7, 15, 0x100003, 0x10000f):
        MR(pd, 4096, access).close()
    fails(errno.EINVAL, MR, pd, 4096, e.IBV_ACCESS_REMOTE_WRITE)  # without local write
    MR(pd, 4096, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_ON_DEMAND).close()
    fails(errno.EOPNOTSUPP, MR, pd, 4096, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_ZERO_BASED)
    shared = MR(pd, 4096, 1)
    again = MR(pd, 4096, ALL, address=shared.buf)
    assert again.lkey != shared.lkey
    again.close()
    shared.close()


def check_send(ctx, pd):
    a, b = pair(ctx, pd)
    for size in (0, 1, 63, 8384, 8385, SIZE):
        a.mr.write(bytes([size & 0xff]) * SIZE, SIZE)
        b.recv(7)
        a.send(8, e.IBV_WR_SEND, size)
        got, sent = (b.wait(), a.wait())
        status(got, e.IBV_WC_SUCCESS)
        status(sent, e.IBV_WC_SUCCESS)
        assert (got.wr_id, got.opcode, got.byte_len, got.src_qp) == (7, e.IBV_WC_RECV, size, a.qp.qp_num)
        assert (sent.wr_id, sent.opcode) == (8, e.IBV_WC_SEND)
        assert b.mr.read(size, 0) == a.mr.read(size, 0)
    b.recv(9)
    a.send(10, e.IBV_WR_SEND_WITH_IMM, 5, imm=0x01020304)
    got = b.wait()
    assert got.imm_data == 0x01020304 and got.wc_flags & e.IBV_WC_WITH_IMM
    status(a.wait(), e.IBV_WC_SUCCESS)
    b.recv(11)
    a.send(12, e.IBV_WR_SEND, 32, flags=e.IBV_SEND_SIGNALED | e.IBV_SEND_INLINE)
    status(b.wait(), e.IBV_WC_SUCCESS)
    status(a.wait(), e.IBV_WC_SUCCESS)


def check_order(ctx, pd):
    """Unsignalled, small, large, writes and reads between: completions in the order of posting. [VRB-REQ-5] [VRB-RSP-1]"""
    a, b = pair(ctx, pd)
    for i in range(8):
        b.recv(100 + i)
    plan = [(e.IBV_WR_SEND, 16), (e.IBV_WR_SEND, 40000), (e.IBV_WR_RDMA_WRITE, 64), (e.IBV_WR_SEND, 8), (e.IBV_WR_RDMA_READ, 5000),
            (e.IBV_WR_RDMA_WRITE_WITH_IMM, 0), (e.IBV_WR_SEND, 50000), (e.IBV_WR_SEND, 1)]
    for i, (opcode, size) in enumerate(plan):
        a.send(i, opcode, size, remote=b if "RDMA" in str(opcode) or opcode in (e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ,
               e.IBV_WR_RDMA_WRITE_WITH_IMM) else None, flags=e.IBV_SEND_SIGNALED if i % 2 else 0)
    assert [wc.wr_id for wc in a.wait(4)] == [1, 3, 5, 7]
    received = b.wait(6)
    assert [wc.wr_id for wc in received] == [100, 101, 102, 103, 104, 105]
    assert [wc.byte_len for wc in received] == [16, 40000, 8, 0, 50000, 1]
    assert received[3].opcode == e.IBV_WC_RECV_RDMA_WITH_IMM


def check_read_and_atomics(ctx, pd):
    a, b = pair(ctx, pd)
    b.mr.write(bytes(range(256)) * (SIZE // 256), SIZE)
    for size in (1, 4096, SIZE):
        a.send(1, e.IBV_WR_RDMA_READ, size, remote=b)
        wc = a.wait()
        status(wc, e.IBV_WC_SUCCESS)
        assert wc.opcode == e.IBV_WC_RDMA_READ and a.mr.read(size, 0) == b.mr.read(size, 0)
    b.mr.write((40).to_bytes(8, "little"), 8)
    a.send(2, e.IBV_WR_ATOMIC_FETCH_AND_ADD, 8, remote=b, atomic=(2, 0))
    assert a.wait().opcode == e.IBV_WC_FETCH_ADD
    assert int.from_bytes(a.mr.read(8, 0), "little") == 40 and int.from_bytes(b.mr.read(8, 0), "little") == 42
    a.send(3, e.IBV_WR_ATOMIC_CMP_AND_SWP, 8, remote=b, atomic=(42, 99))
    assert a.wait().opcode == e.IBV_WC_COMP_SWAP
    assert int.from_bytes(a.mr.read(8, 0), "little") == 42 and int.from_bytes(b.mr.read(8, 0), "little") == 99
    a.send(4, e.IBV_WR_ATOMIC_CMP_AND_SWP, 8, remote=b, atomic=(42, 1))
    a.wait()
    assert int.from_bytes(a.mr.read(8, 0), "little") == 99 and int.from_bytes(b.mr.read(8, 0), "little") == 99


def check_errors(ctx, pd):
    """[VRB-RSP-4] [VRB-RSP-5] [VRB-QP-2]: a refusal arrives as such, also where the queue pair admits nothing."""
    a, b = pair(ctx, pd)
    b.recv(1, length=10)
    a.send(2, e.IBV_WR_SEND, 11)
    a.send(3, e.IBV_WR_SEND, 1)
    status(b.wait(), e.IBV_WC_LOC_LEN_ERR)
    first, second = a.wait(2)
    status(first, e.IBV_WC_REM_INV_REQ_ERR)
    status(second, e.IBV_WC_WR_FLUSH_ERR)
    assert a.qp.query(e.IBV_QP_STATE)[0].qp_state == e.IBV_QPS_ERR
    for opcode, atomic in ((e.IBV_WR_RDMA_READ, None), (e.IBV_WR_RDMA_WRITE, None), (e.IBV_WR_ATOMIC_FETCH_AND_ADD, (1, 0))):
        a, b = pair(ctx, pd)
        a.send(4, opcode, 8, rkey=b.mr.rkey ^ 0xff00, addr=b.mr.buf, atomic=atomic)
        status(a.wait(), e.IBV_WC_REM_ACCESS_ERR)
        a, b = pair(ctx, pd, access=e.IBV_ACCESS_LOCAL_WRITE)  # the queue pair admits nothing
        a.send(5, opcode, 8, remote=b, atomic=atomic)
        status(a.wait(), e.IBV_WC_REM_ACCESS_ERR)
    a, b = pair(ctx, pd)
    a.send(6, e.IBV_WR_ATOMIC_FETCH_AND_ADD, 8, rkey=b.mr.rkey, addr=b.mr.buf + 4, atomic=(1, 0))
    status(a.wait(), e.IBV_WC_REM_INV_REQ_ERR)


def check_receiver_not_ready(ctx, pd):
    a, b = End(ctx, pd), End(ctx, pd)
    a.connect(b)
    b.connect(a)
    for i in range(4):
        a.send(i, e.IBV_WR_SEND, 100 if i % 2 else 20000)
    assert a.cq.poll(1)[0] == 0
    for i in range(4):
        b.recv(i)
    assert [wc.wr_id for wc in b.wait(4)] == [0, 1, 2, 3]
    assert all(wc.status == e.IBV_WC_SUCCESS for wc in a.wait(4))
    a, b = End(ctx, pd), End(ctx, pd)
    a.connect(b, rnr_retry=2)
    b.connect(a)
    a.send(9, e.IBV_WR_SEND, 1)
    status(a.wait(), e.IBV_WC_RNR_RETRY_EXC_ERR)


def check_flush_and_reset(ctx, pd):
    a, b = pair(ctx, pd)
    a.recv(1)
    a.recv(2)
    a.qp.modify(QPAttr(qp_state=e.IBV_QPS_ERR), e.IBV_QP_STATE)
    assert [(wc.wr_id, wc.status) for wc in a.wait(2)] == [(1, e.IBV_WC_WR_FLUSH_ERR), (2, e.IBV_WC_WR_FLUSH_ERR)]
    a.send(3, e.IBV_WR_SEND, 1)
    status(a.wait(), e.IBV_WC_WR_FLUSH_ERR)
    for end in (a, b):
        end.qp.modify(QPAttr(qp_state=e.IBV_QPS_RESET), e.IBV_QP_STATE)
    a.connect(b)
    b.connect(a)
    b.recv(4)
    a.send(5, e.IBV_WR_SEND, 10000)
    status(b.wait(), e.IBV_WC_SUCCESS)
    status(a.wait(), e.IBV_WC_SUCCESS)


def check_shared_receive_queue(ctx, pd):
    srq = SRQ(pd, SrqInitAttr(SrqAttr(max_wr=8, max_sge=1)))
    a, b = pair(ctx, pd, srq=srq)
    a.send(1, e.IBV_WR_SEND, 100)
    a.send(2, e.IBV_WR_SEND, 30000)
    for i in (11, 12, 13):
        srq.post_recv(RecvWR(wr_id=i, num_sge=1, sg=[b.sge(SIZE)]))
    assert [wc.wr_id for wc in b.wait(2)] == [11, 12]
    assert [wc.wr_id for wc in a.wait(2)] == [1, 2]
    srq.modify(SrqAttr(srq_limit=1), e.IBV_SRQ_LIMIT)
    assert srq.query().srq_limit == 1


def check_receive_capabilities_beside_a_shared_receive_queue(ctx, pd):
    """[VRB-QP-5]"""
    cq = CQ(ctx, 4)
    srq = SRQ(pd, SrqInitAttr(SrqAttr(max_wr=8, max_sge=1)))
    for qp_type in (e.IBV_QPT_RC, e.IBV_QPT_UD):
        own = SRQ(pd, SrqInitAttr(SrqAttr(max_wr=8, max_sge=1))) if qp_type == e.IBV_QPT_UD else srq
        for max_recv_wr, max_recv_sge in ((0, 0), (1 << 20, 1), (1, 1 << 20), (0xFFFFFFFF, 0xFFFFFFFF)):
            cap = QPCap(max_send_wr=1, max_recv_wr=max_recv_wr, max_send_sge=1, max_recv_sge=max_recv_sge)
            QP(pd, QPInitAttr(qp_type=qp_type, scq=cq, rcq=cq, srq=own, cap=cap)).close()
        fails(errno.EINVAL, QP, pd, QPInitAttr(qp_type=qp_type, scq=cq, rcq=cq, cap=QPCap(1, 1 << 20, 1, 1, 0)))


def check_completion_events(ctx, pd):
    CQ(ctx, 4).req_notify()  # without a channel [VRB-CQ-2]
    channel = CompChannel(ctx)
    cq = CQ(ctx, 16, None, channel, 0)
    a = End(ctx, pd, cq=cq)
    b = End(ctx, pd)
    a.connect(b)
    b.connect(a)
    for solicited in (False, True):
        cq.req_notify(solicited)
        a.recv(1)
        b.send(2, e.IBV_WR_SEND, 10, flags=e.IBV_SEND_SIGNALED | (e.IBV_SEND_SOLICITED if solicited else 0))
        channel.get_cq_event(cq)
        cq.ack_events(1)
        status(a.wait(), e.IBV_WC_SUCCESS)
        b.wait()


def check_extended(ctx, pd):
    """[VRB-WR-1]"""
    cq = CQEX(ctx, CqInitAttrEx(cqe=32, wc_flags=e.IBV_WC_STANDARD_FLAGS))
    ops = e.IBV_QP_EX_WITH_SEND | e.IBV_QP_EX_WITH_RDMA_WRITE | e.IBV_QP_EX_WITH_RDMA_READ
    init = QPInitAttrEx(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, pd=pd, cap=QPCap(8, 8, 1, 1, 32),
                        comp_mask=e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, send_ops_flags=ops)
    a, b = End(ctx, pd), End(ctx, pd)
    a.qp = QPEx(ctx, init)
    a.connect(b)
    b.connect(a)
    b.recv(1)
    a.qp.wr_start()
    a.qp.wr_id, a.qp.wr_flags = 77, e.IBV_SEND_SIGNALED
    a.qp.wr_send()
    a.qp.wr_set_sge(a.sge(100))
    a.qp.wr_complete()
    status(b.wait(), e.IBV_WC_SUCCESS)
    while cq.start_poll(PollCqAttr()) == errno.ENOENT:
        pass
    assert cq.status == e.IBV_WC_SUCCESS and cq.wr_id == 77 and cq.read_opcode() == e.IBV_WC_SEND
    cq.end_poll()
    fails(errno.EOPNOTSUPP, QPEx, ctx, QPInitAttrEx(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, pd=pd, cap=QPCap(8, 8, 1, 1, 32),
          comp_mask=e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, send_ops_flags=e.IBV_QP_EX_WITH_TSO))


GRH = 40


def datagram_end(ctx, pd, qkey=0x1234, **more):
    end = End(ctx, pd, qp_type=e.IBV_QPT_UD, **more)
    attr = QPAttr(qp_state=e.IBV_QPS_INIT, port_num=1)
    attr.qkey = qkey
    end.qp.to_rts(attr)
    return end


def handle(ctx, pd, index=3):
    return AH(pd, attr=AHAttr(is_global=1, port_num=1, gr=GlobalRoute(dgid=ctx.query_gid(1, index), sgid_index=index, hop_limit=64)))


def send_datagram(end, ah, to, wr_id, size, flags=e.IBV_SEND_SIGNALED, qkey=0x1234, imm=None, offset=0):
    wr = SendWR(wr_id=wr_id, opcode=e.IBV_WR_SEND if imm is None else e.IBV_WR_SEND_WITH_IMM, num_sge=1, sg=[end.sge(size, offset)],
                send_flags=flags, imm_data=imm or 0)
    wr.set_wr_ud(ah, to.qp.qp_num, qkey)
    end.qp.post_send(wr)


def check_datagrams(ctx, pd):
    """[VRB-UD-1] [VRB-UD-2]"""
    a, b = datagram_end(ctx, pd), datagram_end(ctx, pd)
    assert a.qp.query(e.IBV_QP_STATE | e.IBV_QP_QKEY)[0].qkey == 0x1234
    ah = handle(ctx, pd)
    for i, size in enumerate((0, 1, 63, 1000, 4096)):
        a.mr.write(bytes([i + 1]) * 4096, 4096)
        b.recv(i, length=4096 + GRH)
        send_datagram(a, ah, b, 100 + i, size, imm=0x01020304 if i == 3 else None)
        sent, got = a.wait(), b.wait()
        status(sent, e.IBV_WC_SUCCESS)
        status(got, e.IBV_WC_SUCCESS)
        assert (sent.wr_id, sent.opcode) == (100 + i, e.IBV_WC_SEND)
        assert (got.wr_id, got.opcode, got.byte_len, got.src_qp) == (i, e.IBV_WC_RECV, size + GRH, a.qp.qp_num)
        assert got.wc_flags & e.IBV_WC_GRH and bool(got.wc_flags & e.IBV_WC_WITH_IMM) == (i == 3)
        assert i != 3 or got.imm_data == 0x01020304
        assert b.mr.read(size, GRH) == a.mr.read(size, 0)
    # Unsignalled, then signalled; inline; the Q_Key of the queue pair.
    for i in range(3):
        b.recv(10 + i, length=64 + GRH)
    send_datagram(a, ah, b, 20, 8, flags=0)
    send_datagram(a, ah, b, 21, 8, flags=e.IBV_SEND_INLINE)
    send_datagram(a, ah, b, 22, 8, qkey=0x80000000)
    assert a.wait().wr_id == 22
    assert [wc.wr_id for wc in b.wait(3)] == [10, 11, 12]
    # Dropped: another Q_Key, longer than the request; the next one takes the request.
    b.recv(30, length=64 + GRH)
    send_datagram(a, ah, b, 31, 8, qkey=0x1235)
    send_datagram(a, ah, b, 32, 65)
    send_datagram(a, ah, b, 33, 64)
    got = b.wait()
    assert (got.wr_id, got.byte_len) == (30, 64 + GRH)
    a.wait(3)
    fails(errno.EINVAL, send_datagram, a, ah, b, 34, 4097)
    a.qp.modify(QPAttr(qp_state=e.IBV_QPS_ERR), e.IBV_QP_STATE)
    send_datagram(a, ah, b, 35, 8)
    status(a.wait(), e.IBV_WC_WR_FLUSH_ERR)
    ah.close()


def check_peer_in_rtr(ctx, pd):
    """A queue pair that stays in RTR answers READs and confirms SENDs. [VRB-QP-3]"""
    a, b = End(ctx, pd), End(ctx, pd)
    b.connect(a, rtr_only=True)
    a.connect(b)
    b.mr.write(b"answer", 6)
    b.recv(1)
    a.send(2, e.IBV_WR_RDMA_READ, 6, remote=b)
    status(a.wait(), e.IBV_WC_SUCCESS)
    assert a.mr.read(6, 0) == b"answer"
    a.send(3, e.IBV_WR_SEND, 6)
    status(b.wait(), e.IBV_WC_SUCCESS)
    status(a.wait(), e.IBV_WC_SUCCESS)
    assert b.qp.query(e.IBV_QP_STATE)[0].qp_state == e.IBV_QPS_RTR


def check_destroyed_at_once(ctx, pd):
    """The receiver goes when it has its data; the sender, which has made no call since, is confirmed. [VRB-END-1]"""
    for _ in range(5):
        a, b = pair(ctx, pd)
        b.recv(1)
        a.send(2, e.IBV_WR_SEND, 20)
        status(b.wait(), e.IBV_WC_SUCCESS)
        b.qp.close()
        status(a.wait(), e.IBV_WC_SUCCESS)


def check_import(ctx, pd):
    """[VRB-REF-1]: programs duplicate the descriptor for another process, and learn from the import that it has no use."""
    copy = os.dup(ctx.cmd_fd)
    fails(errno.EOPNOTSUPP, Context, cmd_fd=copy)
    os.close(copy)
    fails(errno.EOPNOTSUPP, PD, ctx, handle=1)
    fails(errno.EOPNOTSUPP, MR, pd, handle=1)


def check_timeout_by_rdma_cm(ctx, pd):
    """[CM-DEV-3]: the option of an id is the timeout of its queue pair."""
    def event(channel, expected):
        taken = CMEvent(channel)
        assert taken.event_type == expected, taken.event_str()
        return taken

    listening, connecting = CMEventChannel(), CMEventChannel()
    server, client = CMID(creator=listening), CMID(creator=connecting)
    port = str(ports.free())
    server.bind_addr(AddrInfo(src="127.0.0.1", src_service=port, flags=ce.RAI_PASSIVE))
    server.listen(1)
    client.resolve_addr(AddrInfo(dst="127.0.0.1", dst_service=port))
    event(connecting, ce.RDMA_CM_EVENT_ADDR_RESOLVED).ack_cm_event()
    client.resolve_route()
    event(connecting, ce.RDMA_CM_EVENT_ROUTE_RESOLVED).ack_cm_event()
    client.connect(ConnParam(qp_num=1))
    request = event(listening, ce.RDMA_CM_EVENT_CONNECT_REQUEST)
    child = CMID(creator=request, listen_id=server)
    request.ack_cm_event()
    assert child.init_qp_attr(e.IBV_QPS_RTS)[0].timeout == 18
    child.set_option(ce.RDMA_OPTION_ID, ce.RDMA_OPTION_ID_ACK_TIMEOUT, 21, 1)
    assert child.init_qp_attr(e.IBV_QPS_RTS)[0].timeout == 21
    datagrams = CMID(creator=connecting, port_space=ce.RDMA_PS_UDP)
    fails(errno.EINVAL, datagrams.set_option, ce.RDMA_OPTION_ID, ce.RDMA_OPTION_ID_ACK_TIMEOUT, 21, 1)


def check_memory_windows_are_refused(ctx, pd):
    """[VRB-REF-1]: compat.md has the reason. The device does not promise them, either."""
    attr = ctx.query_device()
    flags = e.IBV_DEVICE_MEM_WINDOW | e.IBV_DEVICE_MEM_WINDOW_TYPE_2A | e.IBV_DEVICE_MEM_WINDOW_TYPE_2B
    assert attr.max_mw == 0 and attr.device_cap_flags & flags == 0
    for kind in (e.IBV_MW_TYPE_1, e.IBV_MW_TYPE_2):
        fails(errno.EOPNOTSUPP, MW, pd, kind)
    a, b = pair(ctx, pd)
    for opcode in (e.IBV_WR_BIND_MW, e.IBV_WR_LOCAL_INV, e.IBV_WR_SEND_WITH_INV):
        fails(errno.EOPNOTSUPP, a.send, 1, opcode, 8)
    b.recv(2)
    a.send(3, e.IBV_WR_SEND, 8)  # nothing was posted before
    assert b.wait().wr_id == 2 and a.wait().wr_id == 3
    for operation in (e.IBV_QP_EX_WITH_BIND_MW, e.IBV_QP_EX_WITH_LOCAL_INV, e.IBV_QP_EX_WITH_SEND_WITH_INV):
        fails(errno.EOPNOTSUPP, QPEx, ctx, QPInitAttrEx(qp_type=e.IBV_QPT_RC, scq=a.cq, rcq=a.cq, pd=pd, cap=QPCap(8, 8, 1, 1, 32),
              comp_mask=e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, send_ops_flags=operation))


def check_refusals(ctx, pd):
    """[VRB-REF-1] [VRB-QP-1]"""
    cq = CQ(ctx, 4)
    for qp_type in (e.IBV_QPT_XRC_SEND, e.IBV_QPT_RAW_PACKET):
        fails(errno.EOPNOTSUPP, QP, pd, QPInitAttr(qp_type=qp_type, scq=cq, rcq=cq, cap=QPCap(1, 1, 1, 1, 0)))
    a = End(ctx, pd)
    other = Context(name=DEVICE)
    others = CQ(other, 4)
    for scq, rcq in ((cq, others), (others, cq)):  # [VRB-QP-7]
        fails(errno.EINVAL, QP, pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=scq, rcq=rcq, cap=QPCap(1, 1, 1, 1, 0)))
    others.close()
    other.close()
    fails(errno.EINVAL, a.qp.modify, QPAttr(qp_state=e.IBV_QPS_RTR), e.IBV_QP_STATE)  # from RESET
    fails(errno.EINVAL, a.qp.modify, QPAttr(qp_state=e.IBV_QPS_INIT), e.IBV_QP_STATE)  # attributes missing
    fails(errno.EINVAL, a.recv, 1)  # RESET
    fails(errno.EINVAL, AH, pd, attr=AHAttr(is_global=0, dlid=1, port_num=1))
    AH(pd, attr=AHAttr(is_global=1, port_num=1, gr=GlobalRoute(dgid=ctx.query_gid(1, 3), sgid_index=3))).close()
    fails(errno.EINVAL, CQ, ctx, 1 << 30)
    assert ctypes.CDLL(None).ibv_destroy_qp(None) == errno.EINVAL


def main():
    ctx = Context(name=DEVICE)
    pd = PD(ctx)
    failed = 0
    for name, check in list(globals().items()):
        if not name.startswith("check_"):
            continue
        try:
            check(ctx, pd)
            print("passed", name)
        except Exception as failure:  # the next group may still give information
            failed += 1
            import traceback
            traceback.print_exc()
            print("FAILED", name, repr(failure), flush=True)
    sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
