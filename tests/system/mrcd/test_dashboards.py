"""tools/dashboards: every query of the dashboard and of the alert rules finds its series, with its labels, in mrcd's page."""
import json
import os
import re
import sys

from daemon import App
from lab import HTTP, TOKEN, Watched
from process import run
from skip import need_program
from test_monitor import FETCH
from wait import until

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "dashboards")
ALERTS, ALERTS_TEST, DASHBOARD = (os.path.join(FOLDER, name) for name in ("mrc-alerts.yaml", "mrc-alerts-test.yaml", "mrc-grafana.json"))
OF_PROMETHEUS = {"up"}
OF_THE_SCRAPE = {"instance", "job"}  # labels that Prometheus adds


def dashboard_queries():
    with open(DASHBOARD, encoding="utf-8") as text:
        dashboard = json.load(text)
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    legends = [(target["expr"], re.findall(r"{{(\w+)}}", target["legendFormat"]))
               for panel in dashboard["panels"] for target in panel.get("targets", ())]
    variables = [re.fullmatch(r"label_values\((.*), (\w+)\)", variable["definition"]).groups()
                 for variable in dashboard["templating"]["list"] if variable["type"] == "query"]
    return queries, legends + [(series, [label]) for series, label in variables]


def alert_rules():
    """(expression, labels that the annotations name) of each alert."""
    with open(ALERTS, encoding="utf-8") as text:
        rules = text.read().split("- alert: ")[1:]
    expression = re.compile(r"^        expr: (?:\|\n((?:          .*\n)+)|(.*)\n)", re.M)
    found = [(expression.search(rule), rule) for rule in rules]
    return [(match[1] or match[2], re.findall(r"\$labels\.(\w+)", rule)) for match, rule in found]


def series_of(query):
    """[(name, labels that its matchers name)] of an expression of PromQL, and the labels that it groups or joins by."""
    plain = re.sub(r'"[^"]*"', '""', query)
    by = {label for group in re.findall(r"\b(?:by|on) \(([^)]*)\)", plain) for label in group.split(", ")}
    found = [(name, set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers)))
             for name, matchers in re.findall(r"\b(mrcd?_\w+|up)\b(?:{([^}]*)})?", plain)]
    return found, by


def labels_of(page):
    """Series of a page of metrics: name -> labels."""
    series = {}
    for name, labels in re.findall(r"^(\w+)(?:{([^}]*)})? ", page, re.M):
        series.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    return series


def wrong_with(query, named, page):
    """What the query does not find: sentences."""
    found, by = series_of(query)
    wrong = [] if found else [f"no series in {query}"]
    known = set()
    for name, matched in found:
        if name in OF_PROMETHEUS:
            known |= OF_THE_SCRAPE
        elif name not in page:
            wrong.append(f"no series {name}")
        else:
            known |= page[name] | OF_THE_SCRAPE
            wrong += [f"{name} has no label {label}" for label in matched - page[name] - OF_THE_SCRAPE]
    return wrong + [f"no label {label} in {query}" for label in (by | set(named)) - known if found]


def scraped(fabric, token=""):
    page = fabric.run(1, sys.executable, "-c", FETCH, f"http://{HTTP}/metrics", "", token)
    assert page.startswith("200 "), page
    return page.removeprefix("200 ")


def test_every_query_finds_its_series():
    with Watched(hosts=(1,)) as fabric, App(fabric.lab.inside(1), fabric.environment(1)) as app:
        assert app("reach", fabric.lab.address(1, 2)) == "0"
        fabric.forget(1, "f102")
        until(lambda: fabric.faults(1), "no fault is found")
        until(lambda: "mrc_paths{" in scraped(fabric), "the application does not report in time")
        queries, named = dashboard_queries()
        rules = alert_rules()
        assert len(queries) > 20 and len(rules) > 10, (queries, rules)
        for token in ("", TOKEN):
            page = labels_of(scraped(fabric, token))
            wrong = [sentence for query, labels in [*((query, ()) for query in queries), *named, *rules]
                     for sentence in wrong_with(query, labels, page)]
            assert not wrong, wrong


def test_a_query_of_unknown_metrics_or_labels_is_noticed():
    page = labels_of('# HELP mrc_a x\nmrc_a{device="mrc0",port="1"} 1\nmrcd_up 1\n')
    assert not wrong_with('sum by (device) (rate(mrc_a{port=~"$port", instance="a"}[5m]))', ["port"], page)
    assert not wrong_with('up{job="mrcd"} == 0', ["instance"], page)
    for query, named in (("mrc_b", ()), ("1 + 1", ()), ('mrc_a{plane="1"}', ()), ("sum by (plane) (mrc_a)", ()), ("mrc_a", ["plane"]),
                         ("mrcd_up and on (plane) mrc_a", ()), ("mrcd_upp", ())):
        assert wrong_with(query, named, page), query


def test_promtool_accepts_the_rules_and_they_fire():
    promtool = need_program("promtool", "prometheus")
    for words in (("check", "rules", ALERTS), ("test", "rules", ALERTS_TEST)):
        run([promtool, *words])
