// The messages of rdma_cm's connections: any datagram is decoded or dropped, what is accepted encodes to the same bytes
// [CM-MSG-1], and an endpoint that listens survives any sequence of datagrams, refusals, commands and times within its
// limits [CM-LIM-1].
#include "cm/endpoint.h"
#include "fuzz_input.h"

using namespace mrc::shim::cm;
using mrc::fuzz::require;

namespace {

void round_trip(const std::vector<uint8_t>& bytes) {
  Message m;
  if (decode(bytes.data(), bytes.size(), &m) != DecodeError::kOk) return;
  require(encode(m) == bytes, "another encoding");
}

// Bytes of the input, with numbers and cookies that fit where it wants so: a fuzzer cannot guess them.
std::vector<uint8_t> datagram(mrc::fuzz::Input* in, const std::vector<uint64_t>& known) {
  std::vector<uint8_t> bytes = in->bytes(24 + in->below(256));
  const auto put = [&](size_t at, uint64_t value) {
    for (size_t i = 0; i < 8 && at + i < bytes.size(); ++i) bytes[at + i] = static_cast<uint8_t>(value >> (56 - 8 * i));
  };
  if (bytes.size() >= 4) {
    bytes[0] = 'M';
    bytes[1] = 'C';
    bytes[2] = 1;
    bytes[3] = static_cast<uint8_t>(1 + bytes[3] % 13);
  }
  const auto pick = [&] { return known.empty() ? 1 : known[in->below(static_cast<uint32_t>(known.size()))]; };
  const bool cookie = bytes.size() >= 4 && bytes[3] == static_cast<uint8_t>(Type::kCookie);  // it names no source
  put(8, cookie ? 0 : pick());
  if (in->below(2) == 0) put(16, pick());
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  round_trip({data, data + size});
  mrc::fuzz::Input in(data, size);
  Endpoint endpoint({1, 2});
  endpoint.listen(1, 7, Type::kReq, 0x106, 4);
  endpoint.listen(1, 8, Type::kSidrReq, 0x111, 4);
  uint64_t now = 1'000'000'000;
  std::vector<uint64_t> known = {5};
  for (int i = 0; i < 64 && !in.empty(); ++i) {
    now += static_cast<uint64_t>(in.u16()) * kMs;
    endpoint.on_timeout(now);
    const Arrival arrival{in.below(2) == 0 ? 1 : kReplySocket, {{}, in.u8(), 0}, {}};
    std::vector<uint8_t> bytes = datagram(&in, known);
    const uint64_t number = known[in.below(static_cast<uint32_t>(known.size()))];
    switch (in.below(8)) {
      case 0: {
        Message request;
        request.type = in.below(2) == 0 ? Type::kReq : Type::kSidrReq;
        if (const uint64_t client = endpoint.connect(now, {}, {}, request)) known.push_back(client);
        break;
      }
      case 1:
        endpoint.command(number, [&](Connection* c) { return c->accept(now, {}, {}) || c->answer(now, {}); });
        break;
      case 2:
        endpoint.command(number, [&](Connection* c) { return c->confirm(now) || c->disconnect(now); });
        break;
      case 3:
        endpoint.on_refused(now, bytes.data(), bytes.size());
        break;
      default:
        if (bytes.size() > 32 && is_request(static_cast<Type>(bytes[3]))) {  // with its cookie
          Message req;
          if (decode(bytes.data(), bytes.size(), &req) == DecodeError::kOk) {
            req.cookie = Cookies({1, 2}).make(now, arrival.from, req.source);
            bytes = encode(req);
          }
        }
        endpoint.on_datagram(now, arrival, bytes.data(), bytes.size());
    }
    while (const auto t = endpoint.poll_transmit()) round_trip(t->bytes);
    while (const auto e = endpoint.poll_event()) known.push_back(e->connection);
    require(endpoint.half_open() <= 8 + 64, "half-open connections");
    require(endpoint.connections() <= 128, "connections");
  }
  return 0;
}
