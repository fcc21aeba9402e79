#include "objects/address_vector.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cm/ip_bytes.h"
#include "objects/verbs_ops.h"

namespace mrc::shim {

namespace {

constexpr size_t kV4Offset = 20;  // of the IPv4 header in the 40 bytes

union ibv_gid mapped(const uint8_t* v4) {
  union ibv_gid gid;
  std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), gid.raw);
  std::memcpy(gid.raw + 12, v4, 4);
  return gid;
}

// Index of the last GID that `wanted` accepts, which is that of RoCE v2 where there are several; -1: none.
template <typename Wanted>
int last_index(ibv_context* context, const Wanted& wanted) {
  static constexpr uint8_t kNone[16] = {};
  for (uint32_t i = gid_table_length(context); i-- > 0;) {
    union ibv_gid gid;
    if (query_gid(context, 1, static_cast<int>(i), &gid) == 0 && std::memcmp(gid.raw, kNone, sizeof kNone) != 0 &&
        wanted(gid))
      return static_cast<int>(i);
  }
  return -1;
}

// Index of the GID that a datagram was sent to; -1: it is none of ours. A group belongs to no port: then that of the
// sender's IP version. [VRB-UD-3]
int own_index(ibv_context* context, const union ibv_gid& own, const union ibv_gid& source) {
  const bool group = is_multicast(own.raw);
  return last_index(context, [&](const union ibv_gid& gid) {
    return group ? is_mapped(gid.raw) == is_mapped(source.raw) : std::memcmp(gid.raw, own.raw, sizeof own.raw) == 0;
  });
}

}  // namespace

int address_of_sender(ibv_context* context, uint8_t port, const ibv_wc& wc, const ibv_grh* grh, ibv_ah_attr* attr) {
  if (port != 1) return EINVAL;
  if ((wc.wc_flags & IBV_WC_GRH) == 0 || grh == nullptr) return EPROTONOSUPPORT;
  const auto* const bytes = reinterpret_cast<const uint8_t*>(grh);
  union ibv_gid source, own;
  std::memset(attr, 0, sizeof *attr);
  if (bytes[0] >> 4 == 6) {
    std::memcpy(source.raw, bytes + 8, 16);
    std::memcpy(own.raw, bytes + 24, 16);
    attr->grh.traffic_class = static_cast<uint8_t>(bytes[0] << 4 | bytes[1] >> 4);
  } else if (bytes[kV4Offset] >> 4 == 4) {
    source = mapped(bytes + kV4Offset + 12);
    own = mapped(bytes + kV4Offset + 16);
    attr->grh.traffic_class = bytes[kV4Offset + 1];
  } else {
    return EPROTONOSUPPORT;
  }
  attr->grh.traffic_class &= 0xFC;  // without the congestion mark
  attr->is_global = 1;
  attr->port_num = 1;
  attr->sl = wc.sl;
  attr->dlid = wc.slid;
  attr->src_path_bits = wc.dlid_path_bits;
  attr->grh.dgid = source;
  attr->grh.hop_limit = 0xFF;
  const int index = own_index(context, own, source);
  if (index < 0) return ENOENT;
  attr->grh.sgid_index = static_cast<uint8_t>(index);
  return 0;
}

int address_of_own_port(ibv_context* context, ibv_ah_attr* attr) {
  ibv_port_attr port;
  if (query_port(context, attr->port_num, &port) != 0 || attr->dlid != port.lid) return EINVAL;
  const int index = last_index(context, [](const union ibv_gid&) { return true; });
  if (index < 0 || query_gid(context, attr->port_num, index, &attr->grh.dgid) != 0) return EINVAL;
  attr->is_global = 1;
  attr->grh.sgid_index = static_cast<uint8_t>(index);
  attr->grh.hop_limit = 1;
  attr->grh.flow_label = attr->grh.traffic_class = 0;
  return 0;
}

}  // namespace mrc::shim
