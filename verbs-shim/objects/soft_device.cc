#include "objects/soft_device.h"

namespace mrc::shim {

SoftDevice::~SoftDevice() {
  if (mrc_ != nullptr) api_.mrc_destroy_context(mrc_);
  api_.mrc_soft_close_device(soft_);
}

bool SoftDevice::create_context() {
  mrc_context_attr attr = {MRC_API_VER_USED, 0};
  mrc_ = api_.mrc_create_context(soft_, &attr);
  return mrc_ != nullptr;
}

std::optional<SoftDevice::Event> SoftDevice::take_event() {
  mrc_async_event event;
  if (api_.mrc_get_async_event(mrc_, &event) != 0) return std::nullopt;
  Event taken;
  taken.type = event.event_type;
  if (taken.type == IBV_EVENT_QP_FATAL || taken.type == IBV_EVENT_QP_REQ_ERR || taken.type == IBV_EVENT_QP_ACCESS_ERR)
    api_.mrc_get_qpn(event.element.qp, &taken.qpn.emplace(0));  // it is not destroyed before the acknowledgement
  api_.mrc_ack_async_event(&event);
  return taken;
}

bool SoftDevice::port_active() const {
  ibv_port_attr attr;
  for (uint8_t port = 1; api_.mrc_soft_query_port(soft_, port, &attr) == 0; ++port)
    if (attr.state == IBV_PORT_ACTIVE) return true;
  return false;
}

std::optional<bool> SoftDevice::port_change() {
  const bool up = port_active();
  return up != port_was_active_.exchange(up) ? std::optional(up) : std::nullopt;
}

}  // namespace mrc::shim
