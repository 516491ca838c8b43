"""Workers: who runs which task, and how a task is run."""
