#include "sim/helper/sweep.h"

#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include "append_item.h"

namespace mrc::sim {

std::vector<std::string> split_path(const std::string& path) {
  return absl::StrSplit(path, '.');
}

namespace {

bool matches(const Params& params, const Where& where) {
  const auto holds = [&](const auto& pair) { return std::find(params.begin(), params.end(), pair) != params.end(); };
  return std::all_of(where.begin(), where.end(), [&](const auto& wanted) {
    return std::any_of(where.begin(), where.end(),
                       [&](const auto& pair) { return pair.first == wanted.first && holds(pair); });
  });
}

// "cases", or "cases." and a word: a list of named groups of keys.
bool is_cases(const std::string& key) {
  return key == "cases" || key.compare(0, 6, "cases.") == 0;
}

}  // namespace

bool matches(const Point& point, const Where& where) {
  if (point.also.empty()) return matches(point.params, where);
  return std::any_of(point.also.begin(), point.also.end(), [&](const Params& p) { return matches(p, where); });
}

namespace {

// Walks to the parent by recursion: assigning a YAML::Node variable would overwrite what it refers to. Nodes that are
// made on the way stand where `key` stands.
void assign(YAML::Node node, const std::vector<std::string>& path, size_t at, const YAML::Node& value, Source* source,
            const YAML::Node& key) {
  const std::string& part = path[at];
  const bool last = at + 1 == path.size();
  const auto made = [&](const YAML::Node& n) {
    source->add_node(n, source->place(key));
    return n;
  };
  if (node.IsSequence()) {
    char* end = nullptr;
    const unsigned long i = std::strtoul(part.c_str(), &end, 10);
    if (*end != 0 || part.empty() || i >= node.size())
      refuse(*source, key,
             "key '" + key.Scalar() + "': '" + part + "' is no index of a list of " + std::to_string(node.size()));
    if (last) {
      node[i] = value;
    } else {
      assign(node[i], path, at + 1, value, source, key);
    }
    return;
  }
  if (!node.IsMap() && !node.IsNull())
    refuse(*source, key, "key '" + key.Scalar() + "': there is no map or list above '" + part + "'");
  const YAML::Node& constant = node;  // operator[] on a mutable node would add the key
  const bool there = constant[part].IsDefined();
  if (last) {
    if (there) {
      node[part] = value;
    } else {
      node[made(YAML::Node(part))] = value;
    }
    return;
  }
  // The name of a built-in fabric becomes a map based on it when one of its keys is swept.
  if (part == "fabric" && there && constant[part].IsScalar()) {
    const YAML::Node base(constant[part].Scalar());
    YAML::Node map(YAML::NodeType::Map);
    source->add_node(map, source->place(constant[part]));
    source->add_node(base, source->place(constant[part]));
    map["base"] = base;
    node[part] = map;
  } else if (!there) {
    node[made(YAML::Node(part))] = made(YAML::Node(YAML::NodeType::Map));
  }
  assign(node[part], path, at + 1, value, source, key);
}

std::string shown(const YAML::Node& value) {
  if (value.IsScalar()) return value.Scalar();
  YAML::Emitter out;
  out << YAML::Flow << value;
  return out.c_str();
}

// Applies the command line to the tree of one point. "sweep.transport.qps" is a key of `sweep`, dots and all.
void apply(const std::vector<Override>& overrides, const YAML::Node& root, Source* source) {
  for (const Override& o : overrides) {
    const YAML::Node key(o.key), value = load_yaml(Source{o.place}, o.value);
    source->add_place(key, o.place);
    source->add_place(value, o.place);
    const std::string sweep = "sweep.";
    if (o.key.compare(0, sweep.size(), sweep) == 0) {
      assign(root, {"sweep", o.key.substr(sweep.size())}, 0, value, source, key);
    } else {
      assign(root, split_path(o.key), 0, value, source, key);
    }
  }
}

std::string text_of(const YAML::Node& node) {
  YAML::Emitter out;
  out << node;
  return std::string(out.c_str()) + "\n";
}

struct Axis {
  std::string name;
  std::vector<std::pair<std::string, std::vector<std::pair<YAML::Node, YAML::Node>>>> values;  // label, (key, value)s
};

constexpr const char* kRun = "run";  // the parameter by which a point and its baseline differ
constexpr const char *kHealthy = "healthy", *kFaulty = "faulty";

std::vector<Axis> read_axes(const YAML::Node& sweep, const Source& source) {
  std::vector<Axis> axes;
  if (!sweep.IsDefined()) return axes;
  if (!sweep.IsMap()) refuse(source, sweep, "'sweep' must be a map of dotted paths to lists");
  for (const auto& entry : sweep) {
    Axis a;
    a.name = entry.first.Scalar();
    if (!entry.second.IsSequence() || entry.second.size() == 0) refuse_value(source, entry.second, a.name, "a list");
    for (const YAML::Node& item : entry.second) {
      if (!is_cases(a.name)) {
        a.values.push_back({shown(item), {{entry.first, item}}});
        continue;
      }
      if (!item.IsMap() || !item["name"].IsDefined())
        refuse_value(source, item, a.name, "maps with a name and dotted paths");
      std::vector<std::pair<YAML::Node, YAML::Node>> changes;
      for (const auto& change : item)
        if (change.first.Scalar() != "name") changes.push_back({change.first, change.second});
      a.values.push_back({item["name"].Scalar(), changes});
    }
    axes.push_back(a);
  }
  return axes;
}

bool one_of(const std::vector<std::string>& labels, const YAML::Node& value) {
  return std::find(labels.begin(), labels.end(), shown(value)) != labels.end();
}

// `where` of a check names one of `labels` as a value of the key.
bool names_one(const YAML::Node& where, const std::string& key, const std::vector<std::string>& labels) {
  if (!where.IsDefined() || !where.IsMap() || !where[key].IsDefined()) return false;
  const YAML::Node value = where[key];
  return one_of(labels, value) || (value.IsSequence() && std::any_of(value.begin(), value.end(),
                                                                     [&](const auto& v) { return one_of(labels, v); }));
}

// A check or picture of values of the key that are left out.
bool needs_one(const YAML::Node& item, const std::string& key, const std::vector<std::string>& left_out) {
  if (!item.IsDefined() || !item.IsMap()) return false;
  const YAML::Node over = item["over"];
  return names_one(item["where"], key, left_out) ||
         (over.IsDefined() && over.IsMap() && names_one(over["where"], key, left_out));
}

void drop_checks_of(const std::string& key, const std::vector<std::string>& left_out, YAML::Node root) {
  const YAML::Node& constant = root;  // operator[] on a mutable node would add the key
  if (needs_one(constant["picture"], key, left_out)) root.remove("picture");
  const YAML::Node checks = constant["checks"];
  if (!checks.IsDefined() || !checks.IsSequence()) return;
  YAML::Node kept(YAML::NodeType::Sequence);
  for (const YAML::Node& item : checks)
    if (!needs_one(item, key, left_out)) kept.push_back(item);
  root["checks"] = kept;
}

// Leaves of each key of `sweep` that `only` names only the values that it names.
void keep_only(const Where& only, YAML::Node root) {
  for (const auto& [key, value] : only) {
    const YAML::Node& constant = root;
    const YAML::Node sweep = constant["sweep"];
    const std::string option = "--only " + key + "=" + value + ": ";
    if (!sweep.IsDefined() || !sweep.IsMap() || !sweep[key].IsDefined() || !sweep[key].IsSequence())
      throw ConfigError(option + "'" + key + "' is not among the keys of sweep");
    YAML::Node kept(YAML::NodeType::Sequence);
    std::vector<std::string> labels, left_out;
    for (const YAML::Node& item : sweep[key]) {
      labels.push_back(is_cases(key) && item.IsMap() && item["name"].IsDefined() ? shown(item["name"]) : shown(item));
      if (std::find(only.begin(), only.end(), std::make_pair(key, labels.back())) != only.end()) {
        kept.push_back(item);
      } else {
        left_out.push_back(labels.back());
      }
    }
    if (std::find(labels.begin(), labels.end(), value) == labels.end())
      throw ConfigError(option + "allowed: " + absl::StrJoin(labels, ", "));
    root["sweep"][key] = kept;
    drop_checks_of(key, left_out, root);
  }
}

Where read_where(const YAML::Node& node, const Source& source, const std::vector<Axis>& axes) {
  Where w;
  if (!node.IsDefined()) return w;
  if (!node.IsMap()) refuse_value(source, node, "where", "a map of sweep keys to values");
  for (const auto& entry : node) {
    const std::string key = entry.first.Scalar();
    const auto axis = std::find_if(axes.begin(), axes.end(), [&](const Axis& a) { return a.name == key; });
    if (axis == axes.end())
      refuse(source, entry.first,
             "key '" + key + "': not among the keys of sweep" + (key == kRun ? ", and there is no baseline" : ""));
    const auto swept = [&](const std::string& value) {
      return std::any_of(axis->values.begin(), axis->values.end(), [&](const auto& v) { return v.first == value; });
    };
    std::vector<std::string> wanted = {shown(entry.second)};
    if (entry.second.IsSequence() && !swept(wanted[0])) {  // a swept value may be a list itself
      wanted.clear();
      for (const YAML::Node& item : entry.second) wanted.push_back(shown(item));
    }
    if (wanted.empty() || !std::all_of(wanted.begin(), wanted.end(), swept))
      refuse_value(source, entry.second, key, "one of the swept values, or a list of them");
    for (const std::string& value : wanted) w.push_back({key, value});
  }
  return w;
}

bool names_run(const Where& where) {
  return std::any_of(where.begin(), where.end(), [](const auto& w) { return w.first == kRun; });
}

void read_over(const YAML::Node& over, const Source& source, const std::vector<Axis>& axes, bool baseline, Check* c) {
  MapReader o(over, "over", source);
  c->ratio = true;
  c->over_metric = c->metric;
  c->over_place = c->place;
  if (o.text("metric", &c->over_metric)) c->over_place = source.place(o.get("metric"));
  c->over_where = read_where(o.get("where"), source, axes);
  o.flag("baseline", &c->over_baseline);
  o.finish();
  if (c->over_baseline && !baseline) o.bad("baseline", "false, because the scenario has no baseline");
  if (c->over_baseline && !c->over_where.empty()) o.bad("baseline", "false where `where` chooses the points");
  if (baseline && !c->over_where.empty() && !names_run(c->over_where)) c->over_where.push_back({kRun, kFaulty});
}

std::vector<Check> read_checks(const YAML::Node& root, const Source& source, std::vector<Axis> axes, bool baseline) {
  std::vector<Check> checks;
  MapReader top(root, "scenario", source);
  if (baseline) axes.push_back({kRun, {{kHealthy, {}}, {kFaulty, {}}}});
  top.each("checks", [&](const YAML::Node& item) {
    Check c;
    MapReader m(item, "check", source);
    if (!m.text("metric", &c.metric)) m.missing("metric");
    c.place = source.place(m.get("metric"));
    m.text("text", &c.text);
    c.where = read_where(m.get("where"), source, axes);
    if (baseline && !names_run(c.where)) c.where.push_back({kRun, kFaulty});
    double v = 0;
    if (m.number("min", &v, -1e18, 1e18)) c.min = v;
    if (m.number("max", &v, -1e18, 1e18)) c.max = v;
    if (const YAML::Node over = m.get("over"); over.IsDefined()) read_over(over, source, axes, baseline, &c);
    m.finish();
    if (!c.min && !c.max) m.missing("min");
    if (c.min && c.max && *c.min > *c.max) refuse(source, m.get("max"), "max is below min: no value holds");
    checks.push_back(c);
  });
  return checks;
}

std::optional<Picture> read_picture(const YAML::Node& node, const Source& source, std::vector<Axis> axes,
                                    bool baseline) {
  if (!node.IsDefined()) return std::nullopt;
  if (baseline) axes.push_back({kRun, {{kHealthy, {}}, {kFaulty, {}}}});
  Picture p;
  MapReader m(node, "picture", source);
  if (!m.text("job", &p.job)) m.missing("job");
  p.where = read_where(m.get("where"), source, axes);
  m.finish();
  return p;
}

// Each point that it shows has to have its job.
void check_picture(const ScenarioFile& file, const YAML::Node& node, const Source& source) {
  if (!file.picture) return;
  for (const Point& p : file.points) {
    const auto& jobs = p.spec.workloads;
    if (matches(p, file.picture->where) &&
        std::none_of(jobs.begin(), jobs.end(), [&](const WorkloadSpec& w) { return w.name == file.picture->job; }))
      refuse_value(source, node["job"], "job", "the name of a workload of all points that the picture shows");
  }
}

std::string describe(const Check& c) {
  std::string s = c.text.empty() ? "" : c.text + ": ";
  s += c.metric;
  for (const auto& [key, value] : c.where) s += " [" + key + "=" + value + "]";
  if (c.ratio) {
    s += " / " + (c.over_metric == c.metric ? std::string("same") : c.over_metric);
    if (c.over_baseline) s += " of the baseline";
    for (const auto& [key, value] : c.over_where) s += " [" + key + "=" + value + "]";
  }
  const auto number = [](double v) {
    char out[32];
    std::snprintf(out, sizeof(out), "%g", v);
    return std::string(out);
  };
  if (c.min) s += " >= " + number(*c.min);
  if (c.max) s += std::string(c.min ? "," : "") + " <= " + number(*c.max);
  return s;
}

}  // namespace

std::string Point::label() const {
  std::string s = setting();
  for (const auto& [key, value] : params)
    if (key == kRun) append_item(&s, value);
  return s.empty() ? "single run" : s;
}

std::string Point::setting() const {
  std::string s;
  for (const auto& [key, value] : params) {
    if (key == kRun) continue;
    const size_t dot = key.rfind('.');
    append_item(&s, (is_cases(key) ? "" : (dot == std::string::npos ? key : key.substr(dot + 1)) + " ") + value);
  }
  return s;
}

namespace {

// What stands above all points.
struct Whole {
  uint32_t repeat = 1;
  uint64_t seed = 1;
  bool baseline = false;
};

struct PointReader {
  const std::string &path, &text, &folder;
  const std::vector<Override>& overrides;
  const Where& only;
  const Whole& whole;

  // The tree is read again for each point: nodes keep the lines for messages, and nothing is shared.
  Point read(size_t combination, uint32_t repetition, bool healthy) const {
    Source here{path};
    YAML::Node node = load_yaml(here, text);
    apply(overrides, node, &here);
    keep_only(only, node);
    const YAML::Node& constant = node;  // operator[] on a mutable node would add the key
    const std::vector<Axis> own = read_axes(constant["sweep"], here);
    for (const char* key : {"sweep", "repeat", "baseline", "checks", "picture"}) node.remove(key);
    Point p;
    for (size_t a = own.size(); a-- > 0;) {
      const auto& [label, changes] = own[a].values[combination % own[a].values.size()];
      combination /= own[a].values.size();
      p.params.insert(p.params.begin(), {own[a].name, label});
      for (const auto& [key, value] : changes) assign(node, split_path(key.Scalar()), 0, value, &here, key);
    }
    if (whole.repeat > 1) {
      MapReader m(node, "scenario", here);
      uint64_t of_point = whole.seed;
      m.integer("seed", &of_point, 0, INT64_MAX - whole.repeat);
      of_point += repetition;
      node["seed"] = of_point;
      p.params.push_back({kSeed, std::to_string(of_point)});
    }
    if (whole.baseline) p.params.push_back({kRun, healthy ? kHealthy : kFaulty});
    if (healthy) node.remove("faults");
    p.spec = read_scenario(node, here, folder);
    node["fabric"] = expand_fabric(node["fabric"], here, folder).node;
    p.resolved = text_of(node);
    return p;
  }
};

// Points that differ in faults alone have one run without them. `made` holds the indices of those by what they run.
size_t add_baseline(Point healthy, std::map<std::string, size_t>* made, std::vector<Point>* points) {
  const auto [there, is_new] = made->emplace(healthy.resolved, points->size());
  if (is_new) {
    points->push_back(std::move(healthy));
    return there->second;
  }
  Point& shared = (*points)[there->second];
  if (shared.also.empty()) shared.also.push_back(shared.params);
  shared.also.push_back(healthy.params);
  const auto differs = [&](const auto& param) {
    return std::find(healthy.params.begin(), healthy.params.end(), param) == healthy.params.end();
  };
  shared.params.erase(std::remove_if(shared.params.begin(), shared.params.end(), differs), shared.params.end());
  return there->second;
}

}  // namespace

ScenarioFile load_scenario_file(const std::string& path, const std::vector<Override>& overrides, const Where& only) {
  ScenarioFile file;
  file.path = path;
  file.text = read_file(path);
  const std::string text = file.text;
  Source source{path};
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  const YAML::Node root = load_yaml(source, text);
  if (!root.IsMap()) refuse(source, root, "a scenario file must be a map");
  apply(overrides, root, &source);
  keep_only(only, root);
  if (!overrides.empty() || !only.empty()) file.text = text_of(root);
  const YAML::Node& constant = root;  // operator[] on a mutable node would add the key
  const std::vector<Axis> axes = read_axes(constant["sweep"], source);
  Whole whole;
  MapReader m(root, "scenario", source);
  m.integer("repeat", &whole.repeat, 1, 10000);
  m.integer("seed", &whole.seed, 0, INT64_MAX);
  m.flag("baseline", &whole.baseline);
  size_t combinations = 1;
  for (const Axis& a : axes) combinations *= a.values.size();
  const PointReader reader{path, text, folder, overrides, only, whole};
  std::map<std::string, size_t> baselines;
  for (size_t i = 0; i < combinations; ++i)
    for (uint32_t r = 0; r < whole.repeat; ++r) {
      std::optional<size_t> baseline;
      if (whole.baseline) baseline = add_baseline(reader.read(i, r, true), &baselines, &file.points);
      file.points.push_back(reader.read(i, r, false));
      file.points.back().baseline = baseline;
    }
  // After the points, which refuse unknown keys: `baseline` misspelt is not a check's mistake.
  file.checks = read_checks(root, source, axes, whole.baseline);
  file.picture = read_picture(constant["picture"], source, axes, whole.baseline);
  if (whole.baseline &&
      std::all_of(file.points.begin(), file.points.end(), [](const Point& p) { return p.spec.faults.empty(); }))
    m.bad("baseline", "false where there are no faults to leave out");
  check_picture(file, constant["picture"], source);
  return file;
}

std::optional<double> metric_of(const Json& summary, const std::string& path) {
  const Json* j = &summary;
  for (const std::string& part : split_path(path)) {
    if (j->is_array()) {
      char* end = nullptr;
      const unsigned long i = std::strtoul(part.c_str(), &end, 10);
      if (*end != 0 || i >= j->size()) return std::nullopt;
      j = &(*j)[i];
    } else if (j->is_object() && j->contains(part)) {
      j = &(*j)[part];
    } else {
      return std::nullopt;
    }
  }
  if (j->is_boolean()) return j->get<bool>() ? 1 : 0;
  if (!j->is_number()) return std::nullopt;
  return j->get<double>();
}

namespace {

// By what the values of a check are divided; empty where there is nothing.
std::optional<double> divisor(const ScenarioFile& file, const Check& c, const std::vector<Json>& summaries,
                              const Point& point) {
  if (!c.ratio) return 1;
  double sum = 0;
  int n = 0;
  for (size_t i = 0; i < file.points.size(); ++i) {
    if (c.over_baseline        ? point.baseline.value_or(SIZE_MAX) != i
        : c.over_where.empty() ? &file.points[i] != &point
                               : !matches(file.points[i], c.over_where))
      continue;
    if (const auto v = metric_of(summaries[i], c.over_metric)) {
      sum += *v;
      ++n;
    }
  }
  if (sum == 0) return std::nullopt;
  return sum / n;
}

}  // namespace

std::vector<CheckResult> run_checks(const ScenarioFile& file, const std::vector<Json>& summaries) {
  std::vector<CheckResult> results;
  for (const Check& c : file.checks) {
    CheckResult r;
    r.text = describe(c);
    double worst = 0;
    int n = 0;
    for (size_t i = 0; i < file.points.size() && r.why.empty(); ++i) {
      if (!matches(file.points[i], c.where)) continue;
      const auto base = divisor(file, c, summaries, file.points[i]);
      const auto v = metric_of(summaries[i], c.metric);
      if (!base) r.why = "nothing to compare with";
      if (!v) r.why = "no such metric at " + file.points[i].label();
      if (!r.why.empty()) break;
      const double value = *v / *base;
      const double miss = std::max(c.min ? *c.min - value : -1e300, c.max ? value - *c.max : -1e300);
      if (n++ == 0 || miss > worst) {
        worst = miss;
        r.value = value;
      }
    }
    if (n == 0 && r.why.empty()) r.why = "no point matches";
    r.passed = r.why.empty() && worst <= 0;
    results.push_back(r);
  }
  return results;
}

}  // namespace mrc::sim
