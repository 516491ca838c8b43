"""The server's words about a wrong statement, and the place that is marked for them."""

from __future__ import annotations

from caudal.ui.services.ksql_problem import Problem, marked, problem_of


def test_line_column_and_sentence_are_taken_apart_and_the_caret_is_dropped() -> None:
    said = "line 2:3: There is no stream 'ORDRS'. Did you mean 'ORDERS'?\n  ordrs\n  ^"
    problem = problem_of(said)
    assert problem == Problem("There is no stream 'ORDRS'. Did you mean 'ORDERS'?", 2, 3)
    assert problem.suggestion == "ORDERS"


def test_words_without_a_place_stay_as_they_are() -> None:
    assert problem_of("Topic a does not exist.\nCreate it first.") == Problem(
        "Topic a does not exist.\nCreate it first."
    )


def test_the_place_is_found_in_the_second_statement_of_a_script() -> None:
    script = "SHOW STREAMS;\n\nSELECT *\n  FROM ordrs;"
    begin = script.index("SELECT")
    found = marked(script, begin, Problem("…", 2, 8))
    assert found is not None
    assert script[slice(*found)] == "ordrs"


def test_an_end_that_comes_too_early_marks_what_stands_before_it() -> None:
    assert marked("SELECT * FROM", 0, Problem("…", 1, 14)) == (12, 13)


def test_a_place_that_the_text_does_not_have_is_not_marked() -> None:
    assert marked("SELECT", 0, Problem("…", 5, 1)) is None
    assert marked("SELECT", 0, Problem("…")) is None
