"""What the app costs, measured on this machine: ``python -m tests.bench``.

Times on a shared machine say little by themselves, so what can be compared is compared: the two
things run turn by turn in one run, and the table gives the ratio of neighbours. Nothing here
passes or fails; a goal stands beside each number, and whether it was met.

One file a topic. Each has a function ``rows`` that takes a :class:`tests.bench.bench.Bench` and
gives :class:`tests.bench.report.Row`\\ s; the function that takes a number says how.
"""
