#include "cm/message.h"

#include <algorithm>

#include "cm/ip_bytes.h"

namespace mrc::shim::cm {

namespace {

constexpr uint8_t kMagic[3] = {'M', 'C', 1};  // the last is the version
constexpr size_t kCookieBytes = 8;  // a Hello has as many zeros, so that its answer is not longer [CM-COOKIE-1]
constexpr size_t kParameterBytes = 32;
constexpr size_t kReqBytes = kCookieBytes + 4 + kParameterBytes;
constexpr size_t kRejBytes = 4;
constexpr size_t kSidrReqBytes = kCookieBytes + 4;
constexpr size_t kSidrRepBytes = 28;
constexpr uint32_t k24Bits = 0xFF'FFFF;
constexpr uint8_t kFlowControl = 1, kSrq = 2;

struct Shape {
  size_t fixed;  // behind the header
  size_t private_data;
};

Shape shape_of(Type type) {
  switch (type) {
    case Type::kHello:
    case Type::kCookie:
      return {kCookieBytes, 0};
    case Type::kReq:
      return {kReqBytes, kReqPrivate};
    case Type::kRep:
      return {kParameterBytes, kRepPrivate};
    case Type::kRej:
      return {kRejBytes, kRejPrivate};
    case Type::kSidrReq:
      return {kSidrReqBytes, kSidrReqPrivate};
    case Type::kSidrRep:
      return {kSidrRepBytes, kSidrRepPrivate};
    default:
      return {0, 0};
  }
}

// A message's numbers: the two that open a connection do not know the receiver's yet, all others do, except for a REJ
// or MRA about a REQ. [CM-MSG-3]
bool numbers_fit(const Message& m) {
  switch (m.type) {
    case Type::kHello:
    case Type::kReq:
    case Type::kSidrReq:
      return m.source != 0 && m.destination == 0;
    case Type::kCookie:
      return m.source == 0 && m.destination != 0;
    case Type::kRej:
      return m.source != 0;
    default:
      return m.source != 0 && m.destination != 0;
  }
}

class Writer {
 public:
  explicit Writer(std::vector<uint8_t>* out) : out_(out) {}
  void number(uint64_t value, size_t bytes) {
    for (size_t i = bytes; i-- > 0;) out_->push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
  void bytes(const uint8_t* from, size_t n) { out_->insert(out_->end(), from, from + n); }

 private:
  std::vector<uint8_t>* out_;
};

class Reader {
 public:
  explicit Reader(const uint8_t* at) : at_(at) {}
  uint64_t number(size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value = value << 8 | *at_++;
    return value;
  }
  void bytes(uint8_t* to, size_t n) {
    std::copy(at_, at_ + n, to);
    at_ += n;
  }

 private:
  const uint8_t* at_;
};

// A peer is one queue pair. One that named a group would have its client send multicast. [CM-MSG-5]
bool one_queue_pair(const Parameters& p) {
  return p.qpn < k24Bits && !is_multicast(p.gid.data());
}

void put(Writer* out, const Parameters& p) {
  out->bytes(p.gid.data(), p.gid.size());
  out->number(p.qpn, 4);
  out->number(p.psn, 4);
  out->number(p.mtu, 1);
  out->number(p.responder_resources, 1);
  out->number(p.initiator_depth, 1);
  out->number(p.retry_count, 1);
  out->number(p.rnr_retry_count, 1);
  out->number((p.flow_control ? kFlowControl : 0) | (p.srq ? kSrq : 0), 1);
  out->number(0, 2);
}

bool take(Reader* in, Parameters* p) {
  in->bytes(p->gid.data(), p->gid.size());
  p->qpn = static_cast<uint32_t>(in->number(4));
  p->psn = static_cast<uint32_t>(in->number(4));
  p->mtu = static_cast<uint8_t>(in->number(1));
  p->responder_resources = static_cast<uint8_t>(in->number(1));
  p->initiator_depth = static_cast<uint8_t>(in->number(1));
  p->retry_count = static_cast<uint8_t>(in->number(1));
  p->rnr_retry_count = static_cast<uint8_t>(in->number(1));
  const auto flags = static_cast<uint8_t>(in->number(1));
  p->flow_control = (flags & kFlowControl) != 0;
  p->srq = (flags & kSrq) != 0;
  return in->number(2) == 0 && (flags & ~(kFlowControl | kSrq)) == 0 && one_queue_pair(*p) && p->psn <= k24Bits &&
         p->mtu >= 1 && p->mtu <= 5 && p->retry_count <= 7 && p->rnr_retry_count <= 7;
}

void put_sidr(Writer* out, const Message& m) {
  out->number(m.status, 1);
  out->number(0, 3);
  out->number(m.parameters.qpn, 4);
  out->number(m.qkey, 4);
  out->bytes(m.parameters.gid.data(), m.parameters.gid.size());
}

bool take_sidr(Reader* in, Message* m) {
  m->status = static_cast<uint8_t>(in->number(1));
  const bool zero = in->number(3) == 0;
  m->parameters.qpn = static_cast<uint32_t>(in->number(4));
  m->qkey = static_cast<uint32_t>(in->number(4));
  in->bytes(m->parameters.gid.data(), m->parameters.gid.size());
  if (!zero || m->status > kMaxSidrStatus || m->parameters.qpn > k24Bits) return false;
  return m->status != kSidrSuccess || one_queue_pair(m->parameters);
}

}  // namespace

std::vector<uint8_t> encode(const Message& m) {
  std::vector<uint8_t> bytes;
  bytes.reserve(kMaxMessageBytes);
  Writer out(&bytes);
  out.bytes(kMagic, sizeof kMagic);
  out.number(static_cast<uint8_t>(m.type), 1);
  out.number(0, 4);
  out.number(m.source, 8);
  out.number(m.destination, 8);
  if (m.type == Type::kHello) out.number(0, kCookieBytes);
  if (m.type == Type::kCookie || is_request(m.type)) out.number(m.cookie, kCookieBytes);
  if (is_request(m.type)) {
    out.number(m.port_space, 2);
    out.number(m.port, 2);
  }
  if (m.type == Type::kReq || m.type == Type::kRep) put(&out, m.parameters);
  if (m.type == Type::kRej) {
    out.number(m.reason, 2);
    out.number(0, 2);
  }
  if (m.type == Type::kSidrRep) put_sidr(&out, m);
  out.bytes(m.private_data.bytes.data(), std::min<size_t>(m.private_data.size, shape_of(m.type).private_data));
  return bytes;
}

DecodeError decode(const uint8_t* bytes, size_t size, Message* out) {
  if (size < kHeaderBytes) return DecodeError::kLength;
  if (!std::equal(std::begin(kMagic), std::end(kMagic), bytes)) return DecodeError::kMagic;
  const uint8_t type = bytes[sizeof kMagic];
  if (type < static_cast<uint8_t>(Type::kHello) || type > static_cast<uint8_t>(Type::kSidrRep))
    return DecodeError::kType;
  Message m;
  m.type = static_cast<Type>(type);
  const Shape shape = shape_of(m.type);
  if (size < kHeaderBytes + shape.fixed || size > kHeaderBytes + shape.fixed + shape.private_data)
    return DecodeError::kLength;
  Reader in(bytes + sizeof kMagic + 1);
  bool fits = in.number(4) == 0;
  m.source = in.number(8);
  m.destination = in.number(8);
  if (!numbers_fit(m)) return DecodeError::kNumber;
  if (m.type == Type::kHello) fits &= in.number(kCookieBytes) == 0;
  if (m.type == Type::kCookie || is_request(m.type)) m.cookie = in.number(kCookieBytes);
  if (is_request(m.type)) {
    m.port_space = static_cast<uint16_t>(in.number(2));
    m.port = static_cast<uint16_t>(in.number(2));
  }
  if (m.type == Type::kReq || m.type == Type::kRep) fits &= take(&in, &m.parameters);
  if (m.type == Type::kRej) {
    m.reason = static_cast<uint16_t>(in.number(2));
    fits &= in.number(2) == 0;
  }
  if (m.type == Type::kSidrRep) fits &= take_sidr(&in, &m);
  if (!fits) return DecodeError::kField;
  m.private_data.size = static_cast<uint8_t>(size - kHeaderBytes - shape.fixed);
  in.bytes(m.private_data.bytes.data(), m.private_data.size);
  *out = m;
  return DecodeError::kOk;
}

}  // namespace mrc::shim::cm
