#include "daemon.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <optional>
#include <vector>

#include "connections.h"
#include "device/config.h"
#include "device/environment.h"
#include "file_folder.h"
#include "log.h"
#include "loop.h"
#include "monitor.h"
#include "save_pace.h"
#include "secure_environment.h"
#include "service.h"
#include "settings.h"
#include "state_file.h"
#include "web.h"

namespace mrc::mrcd {

namespace {

constexpr Duration kTick = Duration::milliseconds(50);
constexpr Duration kFinish = Duration::milliseconds(2000);  // for answers; reports take up to one second

// One for each process and web client.
void raise_descriptor_limit() {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Seconds since 1970.
double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

struct Daemon::Parts {
  Parts() : service([this] { changed(); }, wall_time) {}

  // A disk may be slow, so the client that made the change is answered first.
  void changed() {
    if (dirty) return;
    dirty = true;
    loop.post([this] { save_if_due(steady_now()); });
  }

  void save_if_due(Instant now) {
    if (dirty && restored && pace.due(now)) save();
  }

  void save() {
    const Instant begin = steady_now();
    const Status saved = save_state(state_path, service.file_state());
    const std::string why = saved ? "" : saved.error().text;
    if (saved)
      dirty = false;
    else if (why != complaint)
      log_warning(why + "; it is tried again");
    complaint = why;
    pace.wrote(begin, steady_now());
  }

  // After a signal, requests that have been received are answered before mrcd ends; peers that do not read delay that
  // by kFinish at most.
  void finish(Instant now) {
    connections->finish();
    http.finish();
    end_at = now + kFinish;
    stop_if_answered(now);
  }
  void stop_if_answered(Instant now) {
    if (end_at && (now >= *end_at || (!service.is_gathering() && connections->idle() && http.idle()))) loop.stop();
  }

  Status read_configuration() {
    const Result<device::ConfigText> text = device::read_config_text(environment::variable);
    if (!text) return text.error();
    Result<device::Config> common = device::parse_config(text->text, text->file, environment::variable);
    if (!common) return std::move(common).error();
    config = *std::move(common);
    auto own = parse_settings(text->text, text->file, config.devices.size(), environment::variable);
    if (!own) return std::move(own).error();
    settings = *std::move(own);
    return {};
  }

  device::Config config;
  std::vector<Settings> settings;  // by device
  std::string state_path;
  std::optional<Instant> end_at;  // a signal was received
  std::string complaint;
  SavePace pace;
  bool dirty = false;
  bool restored = false;
  Loop loop;
  Service service;
  std::unique_ptr<Connections> connections;
  boost::asio::signal_set signals{loop.context(), SIGTERM, SIGINT, SIGHUP};
  std::vector<std::unique_ptr<Monitor>> monitors;
  std::unique_ptr<Web> web;
  HttpServer http{&loop};
};

// The first device with loops is shown as the fabric.
Status Daemon::start_monitors(Parts& p) {
  for (size_t d = 0; d < p.config.devices.size(); ++d) {
    if (p.settings[d].probe_rate <= 0) continue;
    p.monitors.push_back(std::make_unique<Monitor>(&p.loop, &p.service, p.config.devices[d], p.settings[d]));
    if (Status started = p.monitors.back()->start(); !started) return started;
  }
  p.service.answer_with("monitor", [&p] { return monitor_status(p); });
  return {};
}

MonitorStatus Daemon::monitor_status(const Parts& p) {
  return p.monitors.empty() ? MonitorStatus() : p.monitors.front()->status();
}

Status Daemon::start_web(Parts& p) {
  const Settings& s = p.settings.front();
  p.web = std::make_unique<Web>(
      &p.service, [&p] { return monitor_status(p); }, s.token);
  if (s.http.empty()) return {};
  Status started = p.http.start(
      s.http, [&p](const HttpRequest& request, const HttpServer::Reply& reply) { p.web->handle(request, reply); });
  if (!started) return std::move(started).error().under(s.origin_of("http") + ": ");
  return {};
}

Daemon::Daemon() : parts_(std::make_unique<Parts>()) {}

Daemon::~Daemon() {
  if (parts_->dirty) parts_->save();
}

Status Daemon::start(const Options& options) {
  Parts& p = *parts_;
  start_log(options.verbose);
  raise_descriptor_limit();
  if (Status read = p.read_configuration(); !read) return read;
  const Settings& own = p.settings.front();
  const device::Settings& settings = p.config.devices.front().settings;
  for (const std::string& line : device::misspelt_variables(::environ)) log_warning(line);
  if (const std::string line = device::ignored_variables(::environ); environment::is_ignored() && !line.empty())
    log_warning(line);
  const std::string socket = options.socket.empty() ? settings.mrcd_socket : options.socket;
  p.state_path = options.state.empty() ? own.state : options.state;
  if (socket.empty())
    return invalid("the setting mrcd_socket is empty: no process of this host would look for a daemon");
  if (socket[0] != '@')
    if (Status there = have_folder(socket, device::Settings().mrcd_socket, "mrcd_socket", "--socket"); !there)
      return there;
  if (Status there = have_folder(p.state_path, Settings().state, "state of mrcd", "--state"); !there) return there;
  p.connections = std::make_unique<Connections>(&p.loop, &p.service, settings.ctl_group);
  if (Status listening = p.connections->listen(socket); !listening) return listening;

  Result<nlohmann::json> state = load_state(p.state_path);
  if (!state) return std::move(state).error();
  if (!p.service.restore(*state))
    return invalid(p.state_path + ": not a state file of this version of mrcd; move it away to begin without one");
  p.service.answer_with("save", [&p] {
    if (p.dirty) p.save();
    return nlohmann::json{{"saved", !p.dirty}, {"why", p.complaint}};
  });
  for (const device::DeviceConfig& d : p.config.devices)
    p.service.add_device(std::make_unique<SharedDevice>(
        d.name, static_cast<uint32_t>(d.planes.size()), device::word_of(d.settings.ev_mode),
        static_cast<uint32_t>(d.settings.ev_count + d.settings.ev_backups)));
  p.restored = true;

  ::signal(SIGPIPE, SIG_IGN);
  p.signals.async_wait([&p](const boost::system::error_code& error, int) {
    if (!error) p.finish(steady_now());
  });
  p.loop.every(kTick, [&p](Instant now) {
    p.service.tick(now);
    p.connections->resume(now);
    p.save_if_due(now);
    p.stop_if_answered(now);
  });
  if (Status started = start_monitors(p); !started) return started;
  if (Status started = start_web(p); !started) return started;
  log_info("listening on " + socket + ", state in " + p.state_path);
  return {};
}

void Daemon::run() {
  parts_->loop.run();
}

}  // namespace mrc::mrcd
