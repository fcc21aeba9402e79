"""Contenders of the part `nccl`: runs of nccl-rig over one transport each, which stay up, connected, and measure any collective and size
whenever they are asked (nccl-rig --slices)."""
import json

import contenders
from contenders import Failed

ANSWER_S = 120  # of a slice, beside what its bytes take


class Rig:
    """Started with its first measurement, and again with the next one after it has failed."""

    def __init__(self, words):
        self.words, self.process = words, None

    def start(self):
        if self.process is None:
            self.process = contenders.Process(self.words)
            self.answer(contenders.READY_S)

    def ask(self, line, limit_s):
        self.process.ask(line)
        return self.answer(limit_s)

    def answer(self, limit_s):
        try:
            return self.process.answer(limit_s)
        except json.JSONDecodeError as e:  # what the rig says when it fails
            sentence = e.doc
        except (Failed, ValueError) as e:
            sentence = str(e)
        self.close()
        raise Failed(sentence)

    def close(self):
        if self.process is not None:
            self.process.close(contenders.END_S)
            self.process = None


class Measurement:
    """One collective of one size over a rig, which stays up behind it. The first slice compares every element: it is not counted."""

    def __init__(self, rig, words, limit_s, ranks):
        self.client, self.words, self.limit_s, self.ranks, self.compare = rig, words, limit_s, ranks, 1
        rig.start()

    def slice(self, seconds):
        figures = self.client.ask(f"{self.words} {seconds:g} {self.compare}", self.limit_s)
        self.compare = 0
        if figures["wrong"]:
            raise Failed(f"{figures['wrong']} elements are wrong")
        sent_gb = figures["busbw_gb_s"] * figures["time_us"] * 1e-6 * self.ranks
        cpu = {"cpu_s_per_gb": figures["cpu_us"] * 1e-6 / sent_gb} if sent_gb else {}
        return {"time_us": figures["time_us"], "rate": 1e6 / figures["time_us"], "gbps": 8 * figures["busbw_gb_s"], **cpu}

    def close(self):
        pass
