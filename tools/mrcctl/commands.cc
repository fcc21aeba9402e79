#include "commands.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "command_line.h"
#include "control.h"
#include "ev_expand.h"
#include "live.h"
#include "preflight.h"
#include "probe.h"
#include "profile.h"
#include "show.h"

namespace mrcctl {

namespace {

constexpr uint32_t kMaxTimeoutMs = 4000;  // the API's limit has 32 bits of nanoseconds

CLI::App* add(CLI::App* to, const char* name, const char* what) {
  CLI::App* made = to->add_subcommand(name, what);
  made->fallthrough();
  return made;
}

CLI::App* group(CLI::App* to, const char* name, const char* what) {
  CLI::App* made = add(to, name, what);
  made->require_subcommand(1);
  return made;
}

void add_device(CLI::App* command, std::string* device) {
  command->add_option("--device", *device, "Device by name, else the first one");
}

}  // namespace

void add_show_commands(CLI::App* app, Common* common, Commands* commands) {
  CLI::App* show = add(app, "show", "Show the state; without a further word: devices");
  show->require_subcommand(0, 1);
  auto o = std::make_shared<LiveOptions>();
  const auto live = [=](int (*run)(const LiveOptions&)) {
    return [=] {
      o->json = common->json;
      o->socket = common->socket;
      return run(*o);
    };
  };
  CLI::App* devices = add(show, "devices", "Devices and their features for a controller (no daemon needed)");
  const Command show_devices = [=] { return mrcctl::show(common->json); };
  (*commands)[devices] = show_devices;
  const struct {
    const char* name;
    const char* what;
    int (*run)(const LiveOptions&);
  } kinds[] = {
      {"ports", "Ports: enabled or not, and what each process moved over them", show_ports},
      {"profiles", "Profiles that the processes of this host share", show_profiles},
      {"denies", "Paths that are denied, by whom and why", show_denies},
      {"qps", "QPs of running processes: window, round trip, retransmissions", show_qps},
      {"evs", "Paths of running processes: state, round trip, loss, ECN marks, bytes", show_evs},
      {"monitor", "What mrcd sees of the fabric; exit 1 where something is at fault", show_monitor},
  };
  std::vector<const CLI::App*> known{devices};
  for (const auto& kind : kinds) {
    CLI::App* command = add(show, kind.name, kind.what);
    add_device(command, &o->device);
    command->add_option("--pid", o->pid, "Only this process");
    if (std::string(kind.name) == "evs")
      command->add_flag("--troubled", o->troubled, "Only paths with losses or marks, or in a state other than GOOD");
    (*commands)[command] = live(kind.run);
    known.push_back(command);
  }
  (*commands)[show] = [=] {
    for (const CLI::App* command : known)
      if (*command) return commands->at(command)();
    return show_devices();
  };

  CLI::App* watch = add(app, "watch", "Throughput and health of every process, updated");
  auto interval = std::make_shared<double>(1.0);
  auto rounds = std::make_shared<uint64_t>(0);
  add_device(watch, &o->device);
  watch->add_option("--interval", *interval, "Seconds")
      ->check(mrc::support::in_range(0.1, 3600.0))
      ->capture_default_str();
  watch->add_option("--rounds", *rounds, "Number of updates; 0: until interrupted")->capture_default_str();
  (*commands)[watch] = [=] {
    o->json = common->json;
    o->socket = common->socket;
    return mrcctl::watch(*o, *interval, *rounds);
  };

  CLI::App* events = add(app, "events", "Events: changes, paths that fail and recover, processes");
  auto follow = std::make_shared<bool>(false);
  auto max = std::make_shared<uint64_t>(0);
  events->add_flag("--follow,-f", *follow, "Wait for new events");
  events->add_option("--max", *max, "With --follow: end after this number of events; 0: never")->capture_default_str();
  (*commands)[events] = [=] { return mrcctl::events(common->socket, *follow, *max, common->json); };
}

namespace {

void add_profile_commands(CLI::App* app, Common* common, Commands* commands) {
  CLI::App* profile = group(app, "profile", "Profiles, for all processes of this host");
  auto p = std::make_shared<ProfileOptions>();
  const auto with = [=](int (*run)(const ProfileOptions&)) {
    return [=] {
      p->json = common->json;
      p->socket = common->socket;
      return run(*p);
    };
  };
  CLI::App* create = add(profile, "create", "Create the profiles of a YAML file (man mrcctl has the form)");
  CLI::App* modify =
      add(profile, "modify", "Change the members in a YAML file; through OFFLINE where that is required");
  for (CLI::App* command : {create, modify}) {
    command->add_option("file", p->file, "YAML file")->required();
    add_device(command, &p->device);
  }
  (*commands)[create] = with(profile_create);
  (*commands)[modify] = with(profile_modify);
  CLI::App* remove = add(profile, "delete", "Delete a profile that no QP uses");
  auto kind = std::make_shared<std::string>();
  auto id = std::make_shared<unsigned long long>();
  remove->add_option("kind", *kind, "format, ev or cc")->required()->check(CLI::IsMember({"format", "ev", "cc"}));
  remove->add_option("id", *id, "Number of the profile")->required();
  add_device(remove, &p->device);
  (*commands)[remove] = [=] {
    p->json = common->json;
    p->socket = common->socket;
    return profile_delete(*p, *kind, *id);
  };
}

void add_deny_commands(CLI::App* ev, Common* common, Commands* commands) {
  auto d = std::make_shared<DenyOptions>();
  for (bool denies : {true, false}) {
    CLI::App* command = add(ev, denies ? "deny" : "allow",
                            denies ? "Take paths out of use: in all processes by plane, EV, switches and peer; or an "
                                     "entry of a profile"
                                   : "Remove a deny, by the same options");
    add_device(command, &d->device);
    command->add_option("--plane", d->plane, "Of this plane (port), from 1")->check(mrc::support::in_range(1, 32));
    command->add_option("--ev", d->ev, "EV on the wire: source port 49152, flow label 0x0003, or 0x0003:49152");
    command->add_option("--via", d->via, "Paths over these uSIDs in a row: f101 (a switch), f101:e102 (a link)");
    command->add_option("--to", d->to, "Towards peers with an address below this prefix");
    if (denies) command->add_option("--why", d->why, "The reason, one sentence for users");
    if (!denies) command->add_flag("--all", d->all, "All denies");
    CLI::Option* profile_id = command->add_option("--profile", d->profile, "In this EV profile only, with --entry");
    profile_id->needs(command->add_option("--entry", d->entry, "Entry of the profile: hexadecimal value@port, 0001@2"));
    (*commands)[command] = [=] {
      d->in_profile = profile_id->count() != 0;
      d->socket = common->socket;
      return ev_deny(*d, denies, common->json);
    };
  }
}

void add_entry_commands(CLI::App* ev, Common* common, Commands* commands) {
  auto d = std::make_shared<DenyOptions>();
  CLI::App* replace = add(ev, "replace", "Replace an entry of an explicit profile by another EV");
  auto from = std::make_shared<std::string>(), to = std::make_shared<std::string>();
  replace->add_option("profile", d->profile, "Number of the EV profile")->required();
  replace->add_option("from", *from, "Entry there: hexadecimal value@port, 0001@2")->required();
  replace->add_option("to", *to, "The new entry")->required();
  add_device(replace, &d->device);
  (*commands)[replace] = [=] { return ev_replace(common->socket, d->device, d->profile, *from, *to, common->json); };

  auto file = std::make_shared<std::string>();
  CLI::App* expand =
      add(ev, "expand", "Expand the EV profiles of a JSON file; exit 1 if a result differs from the file's");
  expand->add_option("file", *file, "Form: spec/vectors/ev_expansion.json")->required();
  (*commands)[expand] = [=] { return expand_file(*file, common->json); };
}

void add_port_commands(CLI::App* app, Common* common, Commands* commands) {
  CLI::App* port = group(app, "port", "Ports");
  auto device = std::make_shared<std::string>();
  auto number = std::make_shared<uint32_t>();
  for (bool up : {true, false}) {
    CLI::App* command = add(port, up ? "up" : "down",
                            up ? "Use a port again, in all processes" : "Stop using a port, in all processes");
    command->add_option("port", *number, "From 1")->required()->check(mrc::support::in_range(1, 32));
    add_device(command, device.get());
    (*commands)[command] = [=] { return set_port(common->socket, *device, *number, up, common->json); };
  }
}

}  // namespace

void add_change_commands(CLI::App* app, Common* common, Commands* commands) {
  add_profile_commands(app, common, commands);
  CLI::App* ev = group(app, "ev", "Entropy values");
  add_deny_commands(ev, common, commands);
  add_entry_commands(ev, common, commands);
  add_port_commands(app, common, commands);
}

void add_probe_commands(CLI::App* app, Common* common, Commands* commands) {
  auto o = std::make_shared<ProbeOptions>();
  CLI::App* probe = add(app, "probe", "Probe every path to the given peers; exit 1 if one does not answer");
  probe->add_option("peer", o->peers, "GIDs")->required();
  add_device(probe, &o->device);
  probe->add_option("--port", o->ports, "Only from these ports")->check(mrc::support::in_range(1, 32));
  probe->add_option("--ev", o->ev, "Only this EV: source port 49152, flow label 0x0003, or 0x0003:49152");
  probe->add_option("--count", o->count, "Probes of each path")
      ->check(mrc::support::in_range(1u, 100000u))
      ->capture_default_str();
  probe->add_option("--loss", o->loss, "A path that loses a larger part of them is bad")
      ->check(mrc::support::in_range(0.0, 1.0))
      ->capture_default_str();
  probe->add_flag("--loops", o->loops, "Also there and back over the own T0 and each T1 (ev_mode srv6 and srv6_loop)");
  probe->add_option("--max", o->max_evs, "Maximum of EVs of each port; default: all");
  probe->add_option("--timeout-ms", o->timeout_ms, "Longest wait for one probe of all paths")
      ->check(mrc::support::in_range(1u, kMaxTimeoutMs))
      ->capture_default_str();
  (*commands)[probe] = [=] {
    o->json = common->json;
    return mrcctl::probe(*o);
  };

  auto device = std::make_shared<std::string>();
  CLI::App* respond = add(app, "respond", "Open the device and answer probes until the standard input ends");
  add_device(respond, device.get());
  (*commands)[respond] = [=] { return mrcctl::respond(*device); };

  auto p = std::make_shared<PreflightOptions>();
  CLI::App* preflight = add(app, "preflight",
                            "Before a job: probe every path between hosts and name the broken parts; exit 1 if "
                            "there are any");
  preflight->add_option("host", p->hosts, "GIDs to be probed from here; with --run names of hosts")->required();
  preflight->add_option("--run", p->run,
                        "Command that runs another one on a host, with {host} for its name: 'ssh {host}'");
  preflight->add_option("--program", p->program, "Path of mrcctl there, else 'mrcctl'; without --run this one");
  preflight->add_option("--count", p->count, "Probes of each path")
      ->check(mrc::support::in_range(1u, 100000u))
      ->capture_default_str();
  preflight->add_option("--loss", p->loss, "A path that loses a larger part of them is bad")
      ->check(mrc::support::in_range(0.0, 1.0))
      ->capture_default_str();
  preflight->add_option("--timeout-ms", p->timeout_ms, "Longest wait for one probe of all paths")
      ->check(mrc::support::in_range(1u, kMaxTimeoutMs))
      ->capture_default_str();
  add_device(preflight, &p->device);
  (*commands)[preflight] = [=] {
    p->json = common->json;
    return mrcctl::preflight(*p);
  };
}

}  // namespace mrcctl
