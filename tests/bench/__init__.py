"""What the app costs, measured on this machine: ``python -m tests.bench``.

Times on a shared machine say little by themselves, so what can be compared is compared: the two
things run turn by turn in one run, and the table gives the ratio of neighbours. Nothing here
passes or fails; a goal stands beside each number, and whether it was met.

One file a topic. Each has a function ``rows`` that takes a :class:`tests.bench.bench.Bench` and
gives :class:`tests.bench.report.Row`\\ s; the function that takes a number says how. What is said
of a topic to a reader, and why a goal is missed, stands in ``topics.py``.
"""

import os

#: What the app is started with: the environment as it was given.
ENVIRONMENT = dict(os.environ)

# Both before any library reads them. By default torch's threads wait for each other by spinning.
# On a busy machine one that has lost its core then holds the others up, ten times as long at one
# time as at another; asleep they do not, and the two sides of a ratio meet the same load. On an
# idle machine both sides run about a fifth slower for it.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# The longest text that the default model was made for, in this process: see long_texts.py.
os.environ["EXPLAINER_MAX_TOKENS"] = "2048"
