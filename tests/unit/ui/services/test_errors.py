"""Errors of the servers as one sentence."""

from __future__ import annotations

import httpx
from confluent_kafka import KafkaError

from caudal.ui.services.errors import kafka_error, sentence
from caudal.ui.services.http import refusal


def test_a_code_that_is_known_is_explained_and_another_keeps_the_brokers_words() -> None:
    silent = kafka_error(KafkaError(KafkaError._TIMED_OUT), "host:9092")
    assert silent.message == "The broker at host:9092 does not answer."
    known = kafka_error(KafkaError(KafkaError.TOPIC_ALREADY_EXISTS), "host:9092")
    assert known.message == "A topic of this name exists already."
    other = kafka_error(KafkaError(KafkaError.INVALID_PARTITIONS, "partitions  must\ngrow"), "host:9092")
    assert other.message == "Partitions must grow."
    assert other.code == KafkaError.INVALID_PARTITIONS


def test_a_sentence_ends_with_one_full_stop() -> None:
    assert sentence("it failed..") == "It failed."
    assert sentence(" ") == "The request failed without a reason."


def test_a_rest_error_is_its_message_and_its_code() -> None:
    answer = httpx.Response(404, json={"error_code": 40401, "message": "Subject 'x' not found."})
    error = refusal("Schema Registry", answer)
    assert (error.message, error.code) == ("Subject 'x' not found.", 40401)
    assert refusal("KSQL", httpx.Response(502, text="<html>")).message == "KSQL answered 502."
