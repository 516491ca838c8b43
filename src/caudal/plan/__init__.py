"""The shared intermediate form of pipelines: typed, printable steps, cut into sub-topologies. The DSL and KSQL make it,
`caudal.runtime` runs it. Nothing here reads a record or opens a connection."""
