#include "commands.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "exec.h"
#include "fault.h"
#include "render_files.h"
#include "status.h"
#include "trace.h"

namespace mrc::fabric {
namespace {

constexpr const char* kNoLab = "no lab is up\n";

void print(const Options& o, const Json& json, const std::string& text) {
  std::printf("%s", o.json ? (json.dump(2) + "\n").c_str() : text.c_str());
}

// A lab's name from the fabric's, with what a name may not have replaced.
std::string lab_name(const Options& o, const FabricSpec& spec) {
  if (!o.lab.empty()) return o.lab;
  std::string name = spec.name;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

// The program follows "--", or without that consists of the unknown words.
std::vector<std::string> program_words(const CLI::App& command, const Options& o) {
  std::vector<std::string> words = o.words.empty() ? command.remaining() : o.words;
  if (words.empty()) throw UsageError("which program? " + command.get_footer());
  return words;
}

Json up_json(const LabState& state, const UpResult& r) {
  return {{"lab", state.lab()}, {"built", r.built}, {"nodes", r.nodes}, {"links", r.links}};
}

int run_up(const Options& o) {
  need_root("up");
  const std::string text = fabric_text(o.fabric, o.scale);
  LabState state(lab_name(o, fabric_of(text)));
  catch_signals();
  const UpResult r = up(&state, text, o.replace);
  print(o, up_json(state, r),
        "lab " + state.lab() + (r.built ? " is up: " : " was up already: ") + std::to_string(r.nodes) +
            " namespaces, " + std::to_string(r.links) + " links\n");
  return 0;
}

int run_with(const Options& o) {
  need_root("run");
  const std::string text = fabric_text(o.fabric, o.scale);
  LabState state(lab_name(o, fabric_of(text)));
  catch_signals();
  std::unique_ptr<Guardian> guardian;
  const UpResult lab = up(&state, text, o.replace, &guardian);
  if (!lab.built) throw FabricError("lab '" + state.lab() + "' is up already; `run` needs one of its own, use --lab");
  return run_beside(state, o.words, [&] { guardian->close_in_child(); });
}

int run_down(const Options& o) {
  need_root("down");
  std::vector<std::string> labs = known_labs();
  if (!o.all && !(o.lab.empty() && labs.empty())) labs = {choose_lab(o.lab)};
  Json json = Json::array();
  std::string text;
  for (const std::string& name : labs) {
    LabState state(name);
    const size_t count = down(&state);
    json.push_back({{"lab", name}, {"removed", count}});
    text += "lab " + name + ": " + std::to_string(count) + " namespaces removed\n";
  }
  print(o, json, text.empty() ? kNoLab : text);
  return 0;
}

int run_list(const Options& o) {
  Json json = Json::array();
  std::string text;
  for (const std::string& name : known_labs()) {
    const LabState state(name);
    FabricSpec spec;
    try {
      spec = state.fabric();
    } catch (const std::exception&) {
      if (state.exists()) throw;
      continue;  // it has ended meanwhile
    }
    json.push_back({{"lab", name}, {"fabric", spec.name}, {"complete", state.complete()}});
    text += name + "  fabric " + spec.name + (state.complete() ? "\n" : "  INCOMPLETE\n");
  }
  print(o, json, text.empty() ? kNoLab : text);
  return 0;
}

int run_exec(const Options& o) {
  need_root("exec");
  const LabState state(choose_lab(o.lab));
  exec_on(state, Topology(state.fabric()), o.node, o.words);
}

int run_status(const Options& o) {
  need_root("status");
  const LabState state(choose_lab(o.lab));
  const Json lab = describe_lab(state, Topology(state.fabric()));
  print(o, lab, status_table(lab));
  return lab_ok(lab) ? 0 : 1;
}

int run_trace(const Options& o) {
  const bool observed = o.fabric.empty();
  if (observed) need_root("trace");
  const LabState state(observed ? choose_lab(o.lab) : "none");
  const Topology topology(observed ? state.fabric() : fabric_of(fabric_text(o.fabric, 0)));
  TraceRequest request{topology.host(o.source), topology.host(o.target), o.path, o.count, o.wait_ms};
  if (request.source == request.target) throw UsageError("source and target are the same host");
  const Json traces = trace(topology, request, observed ? &state : nullptr);
  print(o, traces, trace_text(traces));
  return trace_ok(traces) ? 0 : 1;
}

double share_of(const std::string& text) {
  const auto share = sim::parse_number(text);
  if (!share || *share < 0 || *share > 1)
    throw UsageError("share '" + text + "': allowed: from 0 to 1, or from 0% to 100%");
  return *share;
}

sim::Ps time_of(const std::string& text) {
  const auto time = sim::parse_time(text);
  if (!time || *time < sim::kPsPerUs)
    throw UsageError("time '" + text + "': allowed: a time such as 50ms, at least 1us");
  return *time;
}

double rate_of(const std::string& text) {
  const auto rate = sim::parse_rate(text);
  if (!rate || *rate < 1000) throw UsageError("rate '" + text + "': allowed: a rate such as 100M, at least 1000 bit/s");
  return *rate;
}

int run_fault(const Options& o, const std::string& kind) {
  need_root("fault");
  LabState state(choose_lab(o.lab));
  const Topology topology(state.fabric());
  catch_signals();
  const bool down = o.state == "down";
  if (kind == "link") fault_link(&state, topology, o.where, down);
  if (kind == "port") fault_port(&state, topology, o.where, down);
  if (kind == "switch") fault_switch(&state, topology, o.where, down);
  if (kind == "loss") fault_loss(&state, topology, o.where, share_of(o.share), o.direction);
  if (kind == "rate") fault_rate(&state, topology, o.where, rate_of(o.rate));
  if (kind == "flap") fault_flap(&state, topology, o.where, time_of(o.down_time), time_of(o.up_time), o.count);
  if (kind == "clear") fault_clear(&state, topology, o.where);
  const Json faults = state.faults();
  std::string text;
  for (const auto& [where, what] : faults.items()) text += where + " " + what.dump() + "\n";
  print(o, faults, text.empty() ? "no fault in force\n" : text);
  return 0;
}

int run_render(const Options& o) {
  const Topology topology(fabric_of(fabric_text(o.fabric, 0)));
  if (o.formats.empty()) throw UsageError("render what? --linux, --frr, --sonic, --hosts, --dot");
  Json files = Json::array();
  std::string text;
  for (const std::string& format : o.formats)
    for (const RenderedFile& f : render_files(topology, format, o.node)) {
      if (o.out.empty()) {
        text += f.text;
      } else {
        write_file(o.out + "/" + f.name, f.text);
        text += o.out + "/" + f.name + "\n";
        if (!f.explanation.empty()) write_file(o.out + "/" + f.name + ".txt", f.explanation);
      }
      files.push_back(
          {{"format", format}, {"node", f.node}, {"name", f.name}, {"text", o.out.empty() ? Json(f.text) : Json()}});
      if (o.out.empty() && !f.explanation.empty()) files.back()["explanation"] = f.explanation;
    }
  print(o, files, text);
  return 0;
}

}  // namespace

int run_commands(const CLI::App& app, Options o) {
  const CLI::App& command = *app.get_subcommands()[0];
  const std::string name = command.get_name();
  if (name == "run" || name == "exec") o.words = program_words(command, o);
  if (name == "up") return run_up(o);
  if (name == "run") return run_with(o);
  if (name == "down") return run_down(o);
  if (name == "list") return run_list(o);
  if (name == "exec") return run_exec(o);
  if (name == "trace") return run_trace(o);
  if (name == "fault") return run_fault(o, command.get_subcommands()[0]->get_name());
  if (name == "render") return run_render(o);
  return run_status(o);
}

}  // namespace mrc::fabric
