"""A class of thirty, as a command: ``python -m tests.load``, or ``make load``."""
