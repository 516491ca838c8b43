"""The coordinators: consumer groups and transactions, each a state machine whose truth is an internal topic."""
