#include "profile.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

#include "ctl/cc_profile.h"
#include "daemon.h"
#include "device.h"
#include "profile_file.h"

namespace mrcctl {

namespace {

using Json = nlohmann::json;
using mrc::ctl::ProfileCall;
using mrc::ctl::ProfileKind;

// The states have the same bits in all three kinds.
constexpr int kStateBit = MRC_CTL_EV_PROFILE_STATE, kAssertBit = MRC_CTL_EV_PROFILE_CUR_STATE;
static_assert(kStateBit == MRC_CTL_EV_FMT_PROFILE_STATE && kStateBit == MRC_CTL_CC_PROFILE_STATE);
static_assert(kAssertBit == MRC_CTL_EV_FMT_PROFILE_CUR_STATE && kAssertBit == MRC_CTL_CC_PROFILE_CUR_STATE);

// The call's attributes under `mask`, going from one state to another.
Json text_of(ProfileCall* c, int mask, mrc_ctl_profile_state from, mrc_ctl_profile_state to) {
  mask |= kStateBit | kAssertBit;
  switch (c->kind) {
    case ProfileKind::kFormat:
      c->format.cur_profile_state = from;
      c->format.profile_state = to;
      return mrc::ctl::call_json(c->id, c->format, mask);
    case ProfileKind::kEv:
      c->ev.cur_profile_state = from;
      c->ev.profile_state = to;
      return mrc::ctl::call_json(c->id, c->ev, mask);
    default:
      c->cc.cur_profile_state = from;
      c->cc.profile_state = to;
      c->cc.algorithm = c->algorithm.empty() || c->algorithm == "none" ? nullptr : c->algorithm.c_str();
      return mrc::ctl::call_json(c->id, c->cc, mask);
  }
}

std::string reason(int error) {
  switch (error) {
    case EINVAL:
      return "not allowed in its present state, or values that contradict each other (spec/controller.md)";
    case E2BIG:
      return "more than the device has room for, or wider than the format";
    case EBUSY:
      return "QPs use it: end those first (mrcctl show qps)";
    case ENOENT:
      return "no such EV in the profile";
    case ENOTSUP:
      return "the device does not offer this (mrcctl show devices)";
    default:
      return std::strerror(error);
  }
}

class Editor {
 public:
  explicit Editor(const ProfileOptions& options) : options_(options), daemon_(options.socket) {}

  mrc::Status call(Json text) {
    auto answer = daemon_.request({{"do", "modify"}, {"device", options_.device}, {"call", std::move(text)}});
    if (!answer) return std::move(answer).error();
    return {};
  }
  [[noreturn]] static void fail(const std::string& name, const mrc::Error& error) {
    throw Error(name + ": " + (error.text.empty() ? reason(error.code) : error.text));
  }

  mrc_ctl_profile_state state_of(const ProfileCall& profile) {
    static constexpr const char* kKinds[] = {"format", "ev", "cc"};
    mrc_ctl_profile_state state = MRC_CTL_PROFILE_INIT;
    for (const Json& device : daemon_.ask({{"do", "show"}})) {
      if (!options_.device.empty() && device["device"] != options_.device) continue;
      for (const Json& text : device["calls"])
        if (text["kind"] == kKinds[static_cast<int>(profile.kind)] && text["id"] == profile.id &&
            text.contains("state"))
          state = static_cast<mrc_ctl_profile_state>(text["state"].get<int>());
      break;
    }
    return state;
  }

 private:
  const ProfileOptions& options_;
  Daemon daemon_;
};

// Parts that a profile requires to be ONLINE and a file may leave out.
void complete(ProfileCall* c) {
  if (c->kind == ProfileKind::kEv) c->mask |= MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EVENT_MASK;
  if (c->kind != ProfileKind::kCc || c->algorithm != mrc::ctl::kNsccName || !c->config.empty()) return;
  c->config.push_back({});  // everything derived
  c->mask |= MRC_CTL_CC_PROFILE_CONFIG;
  c->cc.cc_config = c->config.data();
}

void report_change(const ProfileOptions& options, Json* done, const std::string& name, const char* what) {
  if (options.json)
    done->push_back({{"profile", name}, {"done", what}});
  else
    std::printf("%s: %s\n", name.c_str(), what);
}

void finish(const ProfileOptions& options, const Json& done) {
  if (options.json) std::cout << done.dump(2) << "\n";
}

}  // namespace

int profile_create(const ProfileOptions& options) {
  std::vector<WrittenProfile> profiles = read_profiles(options.file);
  Editor editor(options);
  Json done = Json::array();
  for (WrittenProfile& p : profiles) {
    if (editor.state_of(p.call) != MRC_CTL_PROFILE_INIT)
      throw Error(p.name + ": exists already; change it with `mrcctl profile modify`");
    complete(&p.call);
    const int entries = p.call.kind == ProfileKind::kEv ? p.call.mask & MRC_CTL_EV_PROFILE_EV_OP : 0;
    mrc::Status made =
        editor.call(text_of(&p.call, p.call.mask & ~entries, MRC_CTL_PROFILE_INIT, MRC_CTL_PROFILE_OFFLINE));
    if (made && entries != 0)  // a call takes either fields or entries
      made = editor.call(text_of(&p.call, entries, MRC_CTL_PROFILE_OFFLINE, MRC_CTL_PROFILE_OFFLINE));
    if (made && p.online) made = editor.call(text_of(&p.call, 0, MRC_CTL_PROFILE_OFFLINE, MRC_CTL_PROFILE_ONLINE));
    if (!made) {
      // Nothing is left half made.
      (void)editor.call(text_of(&p.call, 0, MRC_CTL_PROFILE_OFFLINE, MRC_CTL_PROFILE_INIT));
      editor.fail(p.name, made.error());
    }
    report_change(options, &done, p.name, "created");
  }
  finish(options, done);
  return kGood;
}

// Directly if the device accepts it, else by way of OFFLINE.
int profile_modify(const ProfileOptions& options) {
  std::vector<WrittenProfile> profiles = read_profiles(options.file);
  Editor editor(options);
  Json done = Json::array();
  for (WrittenProfile& p : profiles) {
    const mrc_ctl_profile_state now = editor.state_of(p.call);
    if (now == MRC_CTL_PROFILE_INIT) throw Error(p.name + ": there is none; make it with `mrcctl profile create`");
    if (p.call.kind == ProfileKind::kEv && (p.call.mask & MRC_CTL_EV_PROFILE_EV_OP) != 0)
      throw Error(p.name + ": entries change one by one (mrcctl ev replace), or all by delete and create");
    const mrc_ctl_profile_state then = p.online ? MRC_CTL_PROFILE_ONLINE : MRC_CTL_PROFILE_OFFLINE;
    mrc::Status changed = editor.call(text_of(&p.call, p.call.mask, now, then));
    if (!changed && now == MRC_CTL_PROFILE_ONLINE) {
      changed = editor.call(text_of(&p.call, 0, now, MRC_CTL_PROFILE_OFFLINE));
      if (!changed) editor.fail(p.name, changed.error());
      changed = editor.call(text_of(&p.call, p.call.mask, MRC_CTL_PROFILE_OFFLINE, then));
      if (!changed) (void)editor.call(text_of(&p.call, 0, MRC_CTL_PROFILE_OFFLINE, MRC_CTL_PROFILE_ONLINE));
    }
    if (!changed) editor.fail(p.name, changed.error());
    report_change(options, &done, p.name, "modified");
  }
  finish(options, done);
  return kGood;
}

int profile_delete(const ProfileOptions& options, const std::string& kind, unsigned long long id) {
  Editor editor(options);
  ProfileCall profile;
  profile.id = id;
  profile.kind = kind == "format" ? ProfileKind::kFormat : kind == "ev" ? ProfileKind::kEv : ProfileKind::kCc;
  const std::string name = kind + " profile " + std::to_string(id);
  const mrc_ctl_profile_state now = editor.state_of(profile);
  if (now == MRC_CTL_PROFILE_INIT) throw Error(name + ": there is none");
  mrc::Status deleted;
  if (now == MRC_CTL_PROFILE_ONLINE)
    deleted = editor.call(text_of(&profile, 0, MRC_CTL_PROFILE_ONLINE, MRC_CTL_PROFILE_OFFLINE));
  if (deleted) deleted = editor.call(text_of(&profile, 0, MRC_CTL_PROFILE_OFFLINE, MRC_CTL_PROFILE_INIT));
  if (!deleted) editor.fail(name, deleted.error());
  Json done = Json::array();
  report_change(options, &done, name, "deleted");
  finish(options, done);
  return kGood;
}

}  // namespace mrcctl
