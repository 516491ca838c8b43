"""One class per step of the plan, registered by `@runs(step)`. A new operator is one file here, no edit elsewhere."""
