#include "test_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "error.h"
#include "size_text.h"

namespace mrc::perf {

namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& key, const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > 40) text = text.substr(0, 40) + "...";
  throw PerfError("the client's test has " + text + " for '" + key + "'", "use the same version on both sides");
}

// The library's own conversions would convert true to 1, truncate 1.5 and wrap 2^32 to 0.
uint64_t whole(const std::string& key, const json& value, uint64_t min, uint64_t max) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() < min || value.get<uint64_t>() > max) refuse(key, value);
  return value.get<uint64_t>();
}

// One key after the other; an absent one leaves the value as it is.
class Reader {
 public:
  explicit Reader(const json& test) : test_(test) {}

  const json* find(const char* key) const {
    const auto at = test_.find(key);
    return at == test_.end() ? nullptr : &*at;
  }
  template <typename T>
  void number(const char* key, uint64_t min, uint64_t max, T* out) const {
    if (const json* value = find(key)) *out = static_cast<T>(whole(key, *value, min, max));
  }
  void flag(const char* key, bool* out) const {
    const json* value = find(key);
    if (value != nullptr && !value->is_boolean()) refuse(key, *value);
    if (value != nullptr) *out = value->get<bool>();
  }
  template <typename E, size_t N>
  void word(const char* key, const Word<E> (&table)[N], E* out) const {
    const json* value = find(key);
    if (value == nullptr) return;
    const auto found = value->is_string() ? find_word(table, value->get<std::string>()) : std::nullopt;
    if (!found) refuse(key, *value);
    *out = *found;
  }

 private:
  const json& test_;
};

void read_sizes(const Reader& from, Options* o) {
  const json* sizes = from.find("sizes");
  if (sizes == nullptr || !sizes->is_array() || sizes->empty() || sizes->size() > kMaxSizes)
    refuse("sizes", sizes != nullptr ? *sizes : json());
  for (const json& size : *sizes) o->sizes.push_back(whole("sizes", size, 0, kMaxSize));
}

// One of the two: a number of messages, or of seconds.
void read_length(const Reader& from, Options* o) {
  from.number("iters", 1, UINT64_MAX, &o->iters);
  const json* seconds = from.find("duration_s");
  if ((seconds != nullptr) == (o->iters != 0)) refuse("duration_s", seconds != nullptr ? *seconds : json());
  if (seconds == nullptr) return;
  if (!seconds->is_number() || seconds->get<double>() < kMinSeconds || seconds->get<double>() > kMaxSeconds)
    refuse("duration_s", *seconds);
  o->duration_s = seconds->get<double>();
}

}  // namespace

json test_to_json(const Options& o) {
  json j = {{"transport", transport_name(o.transport)},
            {"op", op_name(o.op)},
            {"test", test_name(o.test)},
            {"sizes", o.sizes},
            {"qps", o.qps},
            {"threads", o.threads},
            {"bidirectional", o.bidirectional},
            {"inline", o.inline_bytes},
            {"verify", o.verify},
            {"seed", o.seed},
            {"sleepy_server", o.sleepy_server},
            {"slices", o.slices}};
  if (o.depth != 0) j["depth"] = o.depth;
  if (o.signal_every != 0) j["signal_every"] = o.signal_every;
  if (o.iters != 0) j["iters"] = o.iters;
  if (o.iters == 0) j["duration_s"] = o.duration_s;
  if (o.mtu != 0) j["mtu"] = o.mtu;
  if (o.timeout >= 0) j["timeout"] = o.timeout;
  if (o.retry_linear >= 0) j["retry"] = {o.retry_linear, o.retry_exp};
  return j;
}

void test_from_json(const json& j, Options* o) {
  if (!j.is_object()) refuse("test", j);
  const Reader from(j);
  from.word("transport", kTransports, &o->transport);
  from.word("op", kOps, &o->op);
  from.word("test", kTests, &o->test);
  read_sizes(from, o);
  read_length(from, o);
  from.number("qps", 1, kMaxQps, &o->qps);
  from.number("threads", 1, kMaxThreads, &o->threads);
  from.number("depth", 1, kMaxDepth, &o->depth);
  from.number("signal_every", 1, kMaxDepth, &o->signal_every);
  from.flag("bidirectional", &o->bidirectional);
  from.number("mtu", kMtus[0], UINT32_MAX, &o->mtu);
  if (o->mtu != 0 && std::find(std::begin(kMtus), std::end(kMtus), o->mtu) == std::end(kMtus)) refuse("mtu", o->mtu);
  o->inline_bytes = 0;
  from.number("inline", 0, kMaxInline, &o->inline_bytes);
  from.flag("verify", &o->verify);
  from.number("seed", 0, UINT64_MAX, &o->seed);
  from.number("timeout", 0, kMaxTimeout, &o->timeout);
  if (const json* retry = from.find("retry")) {
    if (!retry->is_array() || retry->size() != 2) refuse("retry", *retry);
    o->retry_linear = static_cast<int>(whole("retry", retry->at(0), 0, kMaxLinear));
    o->retry_exp = static_cast<int>(whole("retry", retry->at(1), 0, kMaxExponential));
  }
  from.flag("sleepy_server", &o->sleepy_server);
  from.flag("slices", &o->slices);
  check_test(*o);
}

}  // namespace mrc::perf
