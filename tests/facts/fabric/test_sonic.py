"""The schema of SONiC that rendered configuration is checked by (tests/system/fabric), given what is not rendered."""
import json
import os
import re
import sys

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path.append(os.path.join(SOURCE, "tests", "system", "fabric"))

from sonic_schema import complaints, mark  # noqa: E402


def test_the_schema_accepts_what_is_not_ours():
    """The example of the specification, whose names, numbers and choices are none of the renderer's."""
    with open(os.path.join(SOURCE, "spec", "switch_config.md"), encoding="utf-8") as file:
        db = json.loads(re.search(r"```json\n(.*?)```", file.read(), re.DOTALL)[1])
    assert complaints(db) == []
    assert (mark(db, "Ethernet4"), mark(db, "Ethernet12")) == (22, 24)
