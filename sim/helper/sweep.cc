#include "sim/helper/sweep.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace mrc::sim {
namespace {

std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> parts(1);
  for (const char c : path) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

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
void apply(const std::vector<Override>& overrides, YAML::Node root, Source* source) {
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

std::vector<Axis> read_axes(const YAML::Node& sweep, const Source& source) {
  std::vector<Axis> axes;
  if (!sweep.IsDefined()) return axes;
  if (!sweep.IsMap()) refuse(source, sweep, "'sweep' must be a map of dotted paths to lists");
  for (const auto& entry : sweep) {
    Axis a;
    a.name = entry.first.Scalar();
    if (!entry.second.IsSequence() || entry.second.size() == 0) refuse_value(source, entry.second, a.name, "a list");
    for (const YAML::Node& item : entry.second) {
      if (a.name != "cases") {
        a.values.push_back({shown(item), {{entry.first, item}}});
        continue;
      }
      if (!item.IsMap() || !item["name"].IsDefined())
        refuse_value(source, item, "cases", "maps with a name and dotted paths");
      std::vector<std::pair<YAML::Node, YAML::Node>> changes;
      for (const auto& change : item)
        if (change.first.Scalar() != "name") changes.push_back({change.first, change.second});
      a.values.push_back({item["name"].Scalar(), changes});
    }
    axes.push_back(a);
  }
  return axes;
}

Where read_where(const YAML::Node& node, const Source& source, const std::vector<Axis>& axes) {
  Where w;
  if (!node.IsDefined()) return w;
  if (!node.IsMap()) refuse_value(source, node, "where", "a map of sweep keys to values");
  for (const auto& entry : node) {
    const std::string key = entry.first.Scalar(), value = shown(entry.second);
    const auto axis = std::find_if(axes.begin(), axes.end(), [&](const Axis& a) { return a.name == key; });
    if (axis == axes.end()) refuse(source, entry.first, "key '" + key + "': not among the keys of sweep");
    if (std::none_of(axis->values.begin(), axis->values.end(), [&](const auto& v) { return v.first == value; }))
      refuse_value(source, entry.second, key, "one of the swept values");
    w.push_back({key, value});
  }
  return w;
}

std::vector<Check> read_checks(const YAML::Node& root, const Source& source, const std::vector<Axis>& axes) {
  std::vector<Check> checks;
  MapReader top(root, "scenario", source);
  top.each("checks", [&](const YAML::Node& item) {
    Check c;
    MapReader m(item, "check", source);
    if (!m.text("metric", &c.metric)) m.missing("metric");
    m.text("text", &c.text);
    c.where = read_where(m.get("where"), source, axes);
    double v = 0;
    if (m.number("min", &v, -1e18, 1e18)) c.min = v;
    if (m.number("max", &v, -1e18, 1e18)) c.max = v;
    const YAML::Node over = m.get("over");
    if (over.IsDefined()) {
      MapReader o(over, "over", source);
      c.ratio = true;
      c.over_metric = c.metric;
      o.text("metric", &c.over_metric);
      c.over_where = read_where(o.get("where"), source, axes);
      o.finish();
    }
    m.finish();
    if (!c.min && !c.max) m.missing("min");
    checks.push_back(c);
  });
  return checks;
}

bool matches(const Point& p, const Where& where) {
  for (const auto& [key, value] : where)
    if (std::find(p.params.begin(), p.params.end(), std::make_pair(key, value)) == p.params.end()) return false;
  return true;
}

std::string describe(const Check& c) {
  std::string s = c.text.empty() ? "" : c.text + ": ";
  s += c.metric;
  for (const auto& [key, value] : c.where) s += " [" + key + "=" + value + "]";
  if (c.ratio) {
    s += " / " + (c.over_metric == c.metric ? std::string("same") : c.over_metric);
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
  std::string s;
  for (const auto& [key, value] : params) {
    const size_t dot = key.rfind('.');
    s += (s.empty() ? "" : ", ") +
         (key == "cases" ? "" : (dot == std::string::npos ? key : key.substr(dot + 1)) + " ") + value;
  }
  return s.empty() ? "single run" : s;
}

ScenarioFile load_scenario_file(const std::string& path, const std::vector<Override>& overrides) {
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
  if (!overrides.empty()) file.text = text_of(root);
  const YAML::Node& constant = root;  // operator[] on a mutable node would add the key
  const std::vector<Axis> axes = read_axes(constant["sweep"], source);
  file.checks = read_checks(root, source, axes);
  uint32_t repeat = 1;
  uint64_t seed = 1;
  {
    MapReader m(root, "scenario", source);
    m.integer("repeat", &repeat, 1, 10000);
    m.integer("seed", &seed, 0, INT64_MAX);
  }
  size_t combinations = 1;
  for (const Axis& a : axes) combinations *= a.values.size();
  for (size_t i = 0; i < combinations; ++i)
    for (uint32_t r = 0; r < repeat; ++r) {
      // Read again for each point: nodes keep the lines for messages, and nothing is shared.
      Source here{path};
      YAML::Node node = load_yaml(here, text);
      apply(overrides, node, &here);
      const std::vector<Axis> own = axes.empty() ? axes : read_axes(node["sweep"], here);
      for (const char* key : {"sweep", "repeat", "checks"}) node.remove(key);
      Point p;
      size_t rest = i;
      for (size_t a = own.size(); a-- > 0;) {
        const auto& [label, changes] = own[a].values[rest % own[a].values.size()];
        rest /= own[a].values.size();
        p.params.insert(p.params.begin(), {own[a].name, label});
        for (const auto& [key, value] : changes) assign(node, split_path(key.Scalar()), 0, value, &here, key);
      }
      if (repeat > 1) {
        MapReader m(node, "scenario", here);
        uint64_t of_point = seed;
        m.integer("seed", &of_point, 0, INT64_MAX - repeat);
        of_point += r;
        node["seed"] = of_point;
        p.params.push_back({"seed", std::to_string(of_point)});
      }
      p.spec = read_scenario(node, here, folder);
      node["fabric"] = expand_fabric(node["fabric"], here, folder).node;
      p.resolved = text_of(node);
      file.points.push_back(std::move(p));
    }
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

std::vector<CheckResult> run_checks(const ScenarioFile& file, const std::vector<Json>& summaries) {
  std::vector<CheckResult> results;
  for (const Check& c : file.checks) {
    CheckResult r;
    r.text = describe(c);
    double base = 1;
    if (c.ratio) {
      double sum = 0;
      int n = 0;
      for (size_t i = 0; i < file.points.size(); ++i)
        if (matches(file.points[i], c.over_where))
          if (const auto v = metric_of(summaries[i], c.over_metric)) {
            sum += *v;
            ++n;
          }
      base = n > 0 ? sum / n : 0;
      if (base == 0) r.why = "nothing to compare with";
    }
    double worst = 0;
    int n = 0;
    for (size_t i = 0; i < file.points.size() && r.why.empty(); ++i) {
      if (!matches(file.points[i], c.where)) continue;
      const auto v = metric_of(summaries[i], c.metric);
      if (!v) {
        r.why = "no such metric at " + file.points[i].label();
        break;
      }
      const double value = *v / base;
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
