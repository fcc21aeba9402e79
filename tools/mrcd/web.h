// Web: mrcd's answers over HTTP: the page with the fabric map, its content as JSON, Prometheus metrics, health,
// and changes with the token. A client without it gets no per-process data, as at the socket, where
// processes are shown to their own user. [MRC-MON-8, MRC-MRCD-2, spec/mrcd.md]
//
// Used on the loop's thread: a reply that needs the reports of processes is made when these have arrived, or a second
// later.
#pragma once

#include <string>

#include "http.h"
#include "service.h"
#include "web_state.h"

namespace mrc::mrcd {

class Web {
 public:
  // `monitor` returns the monitor's status.
  Web(Service* service, std::function<MonitorStatus()> monitor, std::string token)
      : service_(*service), monitor_(std::move(monitor)), token_(std::move(token)) {}
  void handle(const HttpRequest& request, const HttpServer::Reply& reply);

 private:
  using Json = nlohmann::json;
  HttpReply read(const HttpRequest& request);
  HttpReply read_reports(const std::string& path, bool one_by_one, Service::Reports reports);
  WebState state(bool one_by_one, Service::Reports reports);
  Json health() const;
  HttpReply change(const HttpRequest& request);
  bool knows_token(const std::string& authorization) const;

  Service& service_;
  const std::function<MonitorStatus()> monitor_;
  const std::string token_;
};

// Text format of Prometheus 0.0.4: of each process, or of all of a device together where there are no reports.
std::string metrics_text(const WebState& state);
// A Host header that names an address or this machine itself. Any other name may be one whose owner points it here, for
// a page of the owner that a browser on this machine shows (DNS rebinding).
bool names_an_address(const std::string& host);
extern const char* const kPage;

}  // namespace mrc::mrcd
