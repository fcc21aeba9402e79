#include "core/transport_ack.h"

#include "core/control_queue.h"
#include "core/flows.h"
#include "core/peer.h"
#include "wire/packet.h"

namespace mrc::core {

uint32_t TransportAck::encode(std::span<uint8_t> out) const {
  wire::Bth bth;
  bth.opcode = wire::Opcode::kAck;
  bth.dqp = dest_qpn;
  bth.pkey = pkey;
  bth.psn = psn;
  wire::Aeth aeth;
  aeth.syndrome = syndrome;
  aeth.msn = msn;
  return wire::encode_ack(out, bth, aeth);
}

bool send_ack(Instant now, EngineContext* engine, ControlQueue* control, const Peer& to, EvIndex ev,
              const TransportAck& ack) {
  const std::optional<wire::Flow> flow = make_flow(engine->config, to.description, ev, engine->config.dscp.control);
  if (!flow || !control->push(*flow, ev, [&](std::span<uint8_t> out) { return ack.encode(out); })) return false;
  engine->report(now, ack.qpn, TraceTrigger::kNone, event::TxAck{.psn = ack.psn, .syndrome = ack.syndrome});
  return true;
}

}  // namespace mrc::core
