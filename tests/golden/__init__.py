"""Golden cases: topologies, inputs and expected outputs as data. Every host of the interpreter must agree with them."""
