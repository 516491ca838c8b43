"""What `caudal doctor` looks at: a file per theme, a decorated function per check.

A check is added by writing one (`check.py` says how); a theme by a file and its name here, in the order of the report.
"""

THEMES = (
    "python_packages",
    "java",
    "machine",
    "data_folder",
    "network",
    "processes",
    "brokers",
    "topics",
    "groups",
    "services",
)
