#include "web.h"

#include <strings.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

#include "base/ip.h"
#include "ctl/peer_json.h"
#include "log.h"
#include "totals.h"

namespace mrc::mrcd {

namespace {

using Json = nlohmann::json;

constexpr const char* kBearer = "Bearer ";

bool needs_reports(const std::string& path) {
  return path == "/api/state" || path == "/metrics";
}

HttpReply json_reply(unsigned status, const Json& body) {
  return {status, "application/json", body.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"};
}

constexpr const char* kPortBody = "the body is {\"port\": NUMBER, \"up\": true or false}, and \"device\" by name";
constexpr const char* kRuleBody =
    "the body is {\"rule\": {..}}, and \"device\" by name; a rule has plane (whole number), ev, via, to and why (texts)";

// An ignored key would leave an intended path undenied. A rule as in /api/state may be sent
// back.
std::string complaint_about_body(bool port, const Json& body) {
  const auto unknown = [](const Json& object, std::initializer_list<const char*> known) -> std::string {
    for (const auto& [key, value] : object.items())
      if (std::find(known.begin(), known.end(), key) == known.end()) return "unknown key '" + key + "': ";
    return "";
  };
  const char* const form = port ? kPortBody : kRuleBody;
  if (!body.is_object() || (body.contains("device") && !body["device"].is_string())) return form;
  if (port) {
    if (std::string key = unknown(body, {"device", "port", "up"}); !key.empty()) return key + form;
    try {
      (void)body.get<ctl::PortChange>();
    } catch (const Json::exception&) {
      return form;
    }
    return "";
  }
  if (std::string key = unknown(body, {"device", "rule"}); !key.empty()) return key + form;
  const Json rule = body.value("rule", Json());
  if (!rule.is_object()) return form;
  if (std::string key = unknown(rule, {"plane", "ev", "via", "to", "why", "by", "text"}); !key.empty())
    return key + form;
  return "";
}

}  // namespace

// The duration reveals only the token's length.
bool Web::knows_token(const std::string& authorization) const {
  if (token_.empty() || authorization.rfind(kBearer, 0) != 0) return false;
  const std::string given = authorization.substr(std::strlen(kBearer));
  if (given.size() != token_.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < given.size(); ++i)
    difference |= static_cast<unsigned>(static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(token_[i]));
  return difference == 0;
}

bool names_an_address(const std::string& host) {
  std::string name = host;
  const bool bracketed = !host.empty() && host.front() == '[';
  if (const size_t colon = host.rfind(':'); colon != std::string::npos && (!bracketed || host[colon - 1] == ']'))
    name = host.substr(0, colon);
  if (bracketed && name.size() > 2 && name.back() == ']') name = name.substr(1, name.size() - 2);
  return ::strcasecmp(name.c_str(), "localhost") == 0 || IpAddress::parse(name).has_value();
}

Web::Json Web::health() const {
  const MonitorStatus monitor = monitor_();
  return {{"healthy", true},
          {"processes", service_.processes()},
          {"monitor", monitor.running},
          {"faults", monitor.findings.size()}};
}

// Status of devices, monitor and processes, with the latter one by one or only as sums.
WebState Web::state(bool one_by_one, Service::Reports reports) {
  WebState state;
  for (const auto& [name, device] : service_.devices())
    state.devices.push_back(
        {name, device->planes(), {device->ports_down().begin(), device->ports_down().end()}, device->denies()});
  state.totals = totals_of(reports);
  state.latency = one_by_one ? service_.latencies().by_peer() : service_.latencies().all_peers();
  if (one_by_one) state.reports = std::move(reports);
  state.monitor = monitor_();
  for (const Event& event : service_.events())
    if (one_by_one || event.what != "process") state.events.push_back(event);
  state.processes = service_.processes();
  state.may_change = !token_.empty();
  return state;
}

HttpReply Web::change(const HttpRequest& request) {
  if (token_.empty()) return json_reply(403, {{"error", "this page only shows: the setting token of mrcd is empty"}});
  if (!knows_token(request.authorization))
    return json_reply(401, {{"error", "the token is missing or wrong: Authorization: Bearer TOKEN"}});
  const Json body = ctl::parse_peer_json(request.body);
  if (const std::string wrong = complaint_about_body(request.path == "/api/port", body); !wrong.empty())
    return json_reply(400, {{"error", wrong}});
  SharedDevice* device = service_.device(body.value("device", ""));
  if (device == nullptr) return json_reply(400, {{"error", "no such device"}});
  const Status done = request.path == "/api/port"
                          ? service_.change_port(device, body.get<ctl::PortChange>(), "web page")
                          : service_.change_rule(device, request.path == "/api/deny", body["rule"], "web page");
  if (done) return json_reply(200, {{"done", true}});
  const auto& [error, why] = done.error();
  return json_reply(error == EEXIST || error == ENOENT ? 409 : 400,
                    {{"error", why.empty() ? std::strerror(error) : why}});
}

HttpReply Web::read(const HttpRequest& request) {
  const std::string& path = request.path;
  if (!names_an_address(request.host))
    return json_reply(421, {{"error", "ask by address or as localhost: other names are not answered to"}});
  if (path == "/api/deny" || path == "/api/allow" || path == "/api/port")
    return request.method == "POST" ? change(request) : json_reply(405, {{"error", "POST"}});
  if (path != "/" && path != "/healthz" && !needs_reports(path))
    return json_reply(404, {{"error", "there are /, /api/state, /metrics and /healthz"}});
  if (request.method != "GET" && request.method != "HEAD") return json_reply(405, {{"error", "GET"}});
  if (path == "/") return {200, "text/html; charset=utf-8", kPage};
  return json_reply(200, path == "/healthz" ? health() : Json::object());
}

// An exception on the loop would end mrcd, so that an unprintable report is answered by an error.
HttpReply Web::read_reports(const std::string& path, bool one_by_one, Service::Reports reports) {
  try {
    const WebState all = state(one_by_one, std::move(reports));
    if (path == "/metrics") return {200, "text/plain; version=0.0.4; charset=utf-8", metrics_text(all)};
    return json_reply(200, all);
  } catch (const std::exception& e) {
    log_warning(path + ": " + e.what());
    return json_reply(500, {{"error", "mrcd could not answer this"}});
  }
}

void Web::handle(const HttpRequest& request, const HttpServer::Reply& reply) {
  HttpReply now = read(request);
  if (now.status != 200 || !needs_reports(request.path)) return reply(std::move(now));
  service_.gather(steady_now(),
                  [this, path = request.path, one_by_one = knows_token(request.authorization),
                   reply](Service::Reports reports) { reply(read_reports(path, one_by_one, std::move(reports))); });
}

}  // namespace mrc::mrcd
