"""A session: which statement goes where, with what, and what the person sees."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from tests.unit.ksql.shell.fake_server import FakeServer, Refusal
from tests.unit.ksql.shell.seen import Seen

from caudal.ksql.errors import KsqlError
from caudal.ksql.shell.client import NotAnswering, Server, ServerError
from caudal.ksql.shell.session import Session, ShellError

CREATED = [{"@type": "currentStatus", "commandStatus": {"status": "SUCCESS", "message": "Stream created"}}]
HEADER = {"queryId": "q1", "columnNames": ["ID", "NAME"], "columnTypes": ["INTEGER", "STRING"]}
PUSH = "SELECT * FROM s EMIT CHANGES;"


def test_statements_go_to_the_server_with_properties_and_variables(
    session: Session, server: FakeServer, screen: Seen
) -> None:
    server.statements["CREATE STREAM s (a INT);"] = CREATED
    session.run_text("SET 'auto.offset.reset' = 'earliest'; DEFINE n = '3'; CREATE STREAM s (a INT); -- done")
    assert server.sent("/ksql") == [
        {
            "ksql": "CREATE STREAM s (a INT);",
            "streamsProperties": {"auto.offset.reset": "earliest"},
            "sessionVariables": {"n": "3"},
        }
    ]
    assert screen.text.splitlines()[-1] == "Stream created"


def test_variables_are_filled_in_by_the_server_and_in_queries_by_the_shell(
    session: Session, server: FakeServer, screen: Seen
) -> None:
    server.queries["SELECT * FROM orders WHERE a = '${x}';"] = [HEADER, [1, "a"]]
    session.run_text("DEFINE src = 'orders'; DROP STREAM ${src}; SELECT * FROM ${SRC} WHERE a = '$${x}';")
    assert server.texts() == ["DROP STREAM ${src};"]
    assert server.texts("/query-stream") == ["SELECT * FROM orders WHERE a = '${x}';"]


def test_a_pull_query_is_a_table(session: Session, server: FakeServer, screen: Seen) -> None:
    server.queries["SELECT * FROM t;"] = [HEADER, [1, "a"], [2, None], [3, "x" * 100]]
    session.run_text("SELECT * FROM t;")
    assert screen.text.splitlines() == [
        f"+-----------+{'-' * 40}+",
        f"|ID         |{'NAME':<40}|",
        f"+-----------+{'-' * 40}+",
        f"|1          |{'a':<40}|",
        f"|2          |{'null':<40}|",
        f"|3          |{'x' * 40}|",
        f"|           |{'x' * 40}|",
        f"|           |{'x' * 20:<40}|",
        "Query Completed: 3 rows",
    ]


def test_a_push_query_says_why_it_ended(session: Session, server: FakeServer, screen: Seen) -> None:
    limited = PUSH.replace(";", " LIMIT 1;")
    server.queries |= {PUSH: [HEADER, [1, "a"]], limited: [HEADER, [1, "a"], {"finalMessage": "Limit Reached"}]}
    row = f"|1          |{'a':<40}|"
    session.run_text(limited)
    assert screen.lines[-3:] == [row, "Limit Reached", "Query terminated"]
    session.run_text(PUSH)
    assert screen.lines[-2:] == [row, "Query terminated"]


class Impatient(Seen):
    """Presses Ctrl-C at the first row."""

    def line(self, text: str = "", style: str = "") -> None:
        super().line(text, style)
        if text.startswith("|1"):
            raise KeyboardInterrupt


def test_rows_are_shown_as_they_come_and_leaving_closes_the_query(server: FakeServer) -> None:
    server.queries[PUSH] = [HEADER, [1, "a"], None]
    screen, asked = Impatient(), Server(server.url)
    with pytest.raises(KeyboardInterrupt):
        Session(asked, screen).run_text(PUSH)
    asked.close()
    assert screen.lines[-1] == "Query terminated"
    assert server.closed == ["q1"]


def test_numbers_keep_their_digits(session: Session, server: FakeServer, screen: Seen) -> None:
    header = {"queryId": None, "columnNames": ["D"], "columnTypes": ["DECIMAL(30, 2)"]}

    server.queries["SELECT d FROM t;"] = [header, "[12345678901234567890.10]"]
    session.as_json = True
    session.run_text("SELECT d FROM t;")
    assert screen.text == '{"D": 12345678901234567890.10}\n'


def test_an_error_in_the_middle_of_rows(session: Session, server: FakeServer, screen: Seen) -> None:
    server.queries[PUSH] = [HEADER, [1, "a"], {"@type": "generic_error", "error_code": 50000, "message": "It broke."}]
    with pytest.raises(ServerError, match="It broke") as caught:
        session.run_text(PUSH)
    assert caught.value.code == 50000
    assert "|1 " in screen.text


def test_a_refused_query(session: Session, server: FakeServer) -> None:
    server.queries["SELECT x FROM t;"] = Refusal("line 1:8: no column X\nSELECT x FROM t;\n       ^")
    with pytest.raises(ServerError, match="line 1:8: no column X"):
        session.run_text("SELECT x FROM t;")


def test_what_was_done_before_an_error_is_shown(session: Session, server: FakeServer, screen: Seen) -> None:
    server.statements["DROP STREAM s;"] = Refusal("no such stream", entities=CREATED)
    with pytest.raises(ServerError, match="no such stream"):
        session.run_text("DROP STREAM s; SHOW STREAMS;")
    assert screen.text == "Stream created\n"
    assert server.texts() == ["DROP STREAM s;"], "nothing runs after a statement that failed"


def test_print_shows_lines(session: Session, server: FakeServer, screen: Seen) -> None:
    server.lines["PRINT 't' LIMIT 1;"] = ["Key format: KAFKA_STRING", "rowtime: 1, key: a, value: \x1b[2Jb"]
    session.run_text("PRINT 't' LIMIT 1;")
    assert screen.text == "Key format: KAFKA_STRING\nrowtime: 1, key: a, value: \\x1b[2Jb\n"


def test_json_is_one_object_per_line(session: Session, server: FakeServer, screen: Seen) -> None:
    server.statements["SHOW STREAMS;"] = [{"@type": "streams", "streams": []}]
    server.queries["SELECT * FROM t;"] = [HEADER, [1, "ä"]]
    session.as_json = True
    session.run_text("SET 'a' = 'b'; SHOW STREAMS; SELECT * FROM t;")
    assert [json.loads(line) for line in screen.text.splitlines()] == [
        {"@type": "streams", "streams": []},
        {"ID": 1, "NAME": "ä"},
    ]


def test_set_and_unset(session: Session, server: FakeServer, screen: Seen) -> None:
    session.run_text("SET 'a' = '1'; SET 'a' = '2'; UNSET 'a';")
    assert session.properties == {}
    assert screen.text.splitlines() == [
        "Successfully changed local property 'a' to '1'.",
        "Successfully changed local property 'a' to '2' (it was '1').",
        "Successfully unset local property 'a' (value was '2').",
    ]
    with pytest.raises(ShellError, match="Cannot unset 'a': it was not set"):
        session.run_text("UNSET 'a';")
    server.refused_properties.add("bad")
    with pytest.raises(ShellError, match="Unknown property"):
        session.run_text("SET 'bad' = '1';")
    assert session.properties == {}


def test_define_and_undefine(session: Session) -> None:
    session.run_text("DEFINE a = 'x'; DEFINE A = '${a}y'; DEFINE b = '1'; UNDEFINE B;")
    assert session.variables == {"A": "xy"}
    with pytest.raises(ShellError, match="Cannot undefine 'c'"):
        session.run_text("UNDEFINE c;")


def test_mistakes_in_the_shells_own_statements_have_a_place(session: Session) -> None:
    with pytest.raises(KsqlError) as caught:
        session.run_text("SET auto = 'x';")
    assert caught.value.explained().splitlines()[-1] == "    ^"


def test_a_script_runs_and_says_where_it_fails(session: Session, server: FakeServer, tmp_path: Path) -> None:
    script = tmp_path / "a.sql"
    inner = tmp_path / "b.sql"
    script.write_text(f"\ufeffDEFINE t = 'x';\n\nSHOW STREAMS;\nRUN SCRIPT '{inner}';\nSHOW TABLES;\n")
    inner.write_text("SHOW TOPICS;\n\nDROP STREAM ${t};\nSHOW TYPES;")
    server.statements["DROP STREAM ${t};"] = Refusal("no such stream")
    with pytest.raises(ServerError) as caught:
        session.run_text(f"RUN SCRIPT '{script}';")
    assert server.texts() == ["SHOW STREAMS;", "SHOW TOPICS;", "DROP STREAM ${t};"]
    assert server.sent("/ksql")[-1]["sessionVariables"] == {"t": "x"}
    assert caught.value.message == f"{script}, statement at line 4: {inner}, statement at line 3: no such stream"


def test_scripts_that_cannot_be_read(session: Session, tmp_path: Path) -> None:
    with pytest.raises(ShellError, match=r"Cannot read .*none.sql: no such file or directory"):
        session.run_file(tmp_path / "none.sql")
    (tmp_path / "binary.sql").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ShellError, match="it is not UTF-8 text"):
        session.run_file(tmp_path / "binary.sql")
    itself = tmp_path / "itself.sql"
    itself.write_text(f"RUN SCRIPT '{itself}';")
    with pytest.raises(ShellError, match="More than 16 scripts run each other"):
        session.run_file(itself)


def test_a_session_is_spooled(session: Session, server: FakeServer, screen: Seen, tmp_path: Path) -> None:
    server.statements["SHOW STREAMS;"] = [{"@type": "streams", "streams": [{"name": "S", "topic": "s"}]}]
    target = tmp_path / "out.txt"
    session.run_text(f"SPOOL '{target}'; SHOW STREAMS; SPOOL OFF; SHOW STREAMS;")
    assert [line.rstrip() for line in target.read_text().splitlines()] == [
        f"Session will be spooled to {target}",
        "ksql> SHOW STREAMS;",
        "Stream Name | Kafka Topic | Key Format | Value Format | Windowed",
        "------------+-------------+------------+--------------+---------",
        "S           | s           |            |              | false",
        "ksql> SPOOL OFF;",
    ]
    assert screen.text.count("Stream Name") == 2
    for text, message in [
        ("SPOOL OFF;", "There is no SPOOL to end"),
        ("SPOOL;", "SPOOL needs a file"),
        (f"SPOOL {tmp_path}/none/x;", "no such file or directory"),
    ]:
        with pytest.raises(ShellError, match=message):
            session.run_text(text)


def test_names_may_have_changed_after_some_statements(session: Session) -> None:
    changes = []
    session.changed = lambda: changes.append(1)
    session.run_text("SHOW STREAMS; DESCRIBE s; INSERT INTO s VALUES (1); EXPLAIN q;")
    assert changes == []
    session.run_text("CREATE STREAM s (a INT); DROP STREAM s;")
    assert changes == [1, 1]


def test_nobody_is_there(screen: Seen) -> None:
    with pytest.raises(NotAnswering, match=r"No KSQL server answers at http://127\.0\.0\.1:9"):
        Session(Server("127.0.0.1:9"), screen).run_text("SHOW STREAMS;")


def test_another_server_is_there(screen: Seen) -> None:
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as other:
        thread = threading.Thread(target=other.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        with pytest.raises(NotAnswering, match="is not a KSQL server: HTTP 501 without JSON"):
            Session(Server(f"http://127.0.0.1:{other.server_port}"), screen).run_text("SHOW STREAMS;")
        other.shutdown()
