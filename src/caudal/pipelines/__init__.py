"""Running pipelines, seen from outside: each reports itself to a topic, and takes orders from another.

    application → reporter.py → `_caudal_pipelines` → reader.py → board.py → control center, `caudal pipeline`
    control center, `caudal pipeline` → control.py → `_caudal_pipelines_control` → reporter.py → application

Whoever shares the Kafka cluster sees every pipeline, whatever process or machine it runs in. Everything on the topics
is JSON. Nothing here knows Spark: what a pipeline tells about itself comes from `caudal.runtime.spark.reporting`.
"""
