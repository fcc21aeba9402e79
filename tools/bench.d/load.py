"""What tools/bench says of the machine's load before its own work begins."""
import os
import sys

QUIET = 1  # processes that are running or ready, on average over the last minute


def sentence(load):
    text = f"tools/bench: load average {load:.2f}"
    return text if load < QUIET else f"{text}: measure when it is below {QUIET} (tools/README.md says why)"


if __name__ == "__main__":
    print(sentence(os.getloadavg()[0]), file=sys.stderr)
