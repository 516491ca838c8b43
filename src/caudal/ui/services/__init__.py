"""What pages ask: Kafka through confluent-kafka, the REST servers through httpx. No page element is made here."""
