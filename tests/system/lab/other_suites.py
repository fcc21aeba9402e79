"""Folders of other suites whose modules this one uses; a test imports it before them."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, folder) for folder in ("../fabric", "../dissector", "../../facts/dissector", "../e2e", "../../../tools/lib/lab")]
