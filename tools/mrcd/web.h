// Web: what mrcd answers over HTTP: the page with the fabric map, what it shows as JSON, Prometheus metrics, health,
// and changes for those who know the token. Who does not know it sees no single process, as at the socket, where
// processes are shown to their own user. [MRC-MON-8, MRC-MRCD-2, spec/mrcd.md]
//
// handle() is called on the server's thread and asks the loop's thread for everything.
#pragma once

#include <string>

#include "http.h"
#include "loop.h"
#include "service.h"

namespace mrc::mrcd {

class Web {
 public:
  // `monitor`: what the monitor sees, asked on the loop's thread.
  Web(Loop* loop, Service* service, std::function<nlohmann::json()> monitor, std::string token)
      : loop_(*loop), service_(*service), monitor_(std::move(monitor)), token_(std::move(token)) {}
  HttpReply handle(const HttpRequest& request);

 private:
  using Json = nlohmann::json;
  // What devices, monitor and processes say, these one by one or in sum; false when the loop does not answer.
  bool state(bool one_by_one, Json* out);
  bool health(Json* out);
  HttpReply change(const HttpRequest& request);
  bool knows_token(const std::string& authorization) const;

  Loop& loop_;
  Service& service_;
  const std::function<Json()> monitor_;
  const std::string token_;
};

// Text format of Prometheus 0.0.4, from what state() gives: of each process, or of all together where it has none.
std::string metrics_text(const nlohmann::json& state);
// A Host header that names an address or this machine itself. Any other name may be one whose owner points it here, for
// a page of his own that a browser on this machine shows (DNS rebinding).
bool names_an_address(const std::string& host);
extern const char* const kPage;

}  // namespace mrc::mrcd
