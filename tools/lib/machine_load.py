"""What a verdict on throughput adds when it fails on a machine that other work keeps busy."""
import os


def hint(load=None, processors=None):
    """A sentence when the load average of the last minute exceeds the processors, otherwise ''."""
    load = os.getloadavg()[0] if load is None else load
    processors = os.cpu_count() if processors is None else processors
    if load <= processors:
        return ""
    return f"Load average {load:.1f} on {processors} processors: other work has the processors: run it again when the machine is idle"


def print_result(good):
    """The last line of a verdict, and the hint below a failure."""
    print("PASSED" if good else "FAILED")
    if not good and hint():
        print(hint())
