"""An agent taught MySQL is at home on SQLite.

`mysql_answers.txt` has statements and what a real server (MariaDB 10.11, with MySQL 8's names of
clauses) answers to each; `mysql_writes.txt` some that follow on each other.
"""

import ast
import gzip
import json
import re
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.engines import conformance
from intercode.engines.base import QueryLimits
from intercode.engines.conformance import CONTENT
from intercode.engines.content import Column, Content, Table
from intercode.engines.read import sections
from intercode.engines.registry import choose
from intercode.engines.sqlite import SQLite
from intercode.engines.sqlite.mysql import collate
from intercode.engines.sqlite.mysql.functions.patterns import Pattern
from intercode.errors import EngineUnavailable
from intercode.rewards.sql_v1 import score_texts

pytest.importorskip("sqlglot", reason="needs sqlglot: pip install 'intercode[sql]'")


def listed(name: str) -> list[tuple[str, str]]:
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    return [(sql, answer) for sql, _, answer in (line.partition(" -> ") for line in lines)]


ANSWERS = listed("mysql_answers.txt")
WRITES = listed("mysql_writes.txt")


class InMySQL(SQLite):
    """The engine, with MySQL's dialect where none is named."""

    def open(self, content, *, policy="write", dialect=None):
        return super().open(content, policy=policy, dialect=dialect or "mysql")


@pytest.fixture(scope="module")
def engine():
    engine = InMySQL()
    yield engine
    assert engine.live() == 0
    engine.close()


@pytest.fixture
def session(engine):
    session = engine.open(CONTENT, policy="ddl")
    yield session
    session.close()


CLAUSES = {
    "MariaDB": "MySQL",
    "in SELECT is": "in field list is",
    "'SELECT'": "'field list'",
    "'WHERE'": "'where clause'",
}


def answer_of(result) -> str:
    if result.rows is not None:
        return repr(list(result.rows))
    words = (
        str(result.error).replace("MariaDB", "MySQL").replace("in SELECT is", "in field list is")
    )
    return "error: " + words.replace("'SELECT'", "'field list'").replace(
        "'WHERE'", "'where clause'"
    )


def one(session, sql: str, limits: QueryLimits = QueryLimits()):  # noqa: B008
    (result,) = session.execute(sql, limits)
    return result


@pytest.mark.parametrize(("sql", "answer"), ANSWERS, ids=[sql for sql, _ in ANSWERS])
def test_the_answer_is_the_servers(session, sql: str, answer: str) -> None:
    assert answer_of(one(session, sql)) == answer


def test_the_answers_are_a_servers() -> None:
    try:
        server = choose("mysql")
        live = server.open(CONTENT)
    except EngineUnavailable as error:
        pytest.skip(f"needs the mysql engine: {error}")
    wrong = [(sql, got) for sql, answer in ANSWERS if (got := answer_of(one(live, sql))) != answer]
    live.close()
    version = server.version
    server.close()
    if "MariaDB" in version:
        assert wrong == []


@pytest.mark.parametrize("promise", conformance.PROMISES, ids=lambda promise: promise.__name__)
def test_promise(promise, engine) -> None:
    promise(engine)


def test_values_have_mysqls_types(session) -> None:
    rows = one(session, "SELECT * FROM typed ORDER BY id").rows
    assert rows == conformance.VALUES
    assert [list(map(type, row)) for row in rows] == [
        list(map(type, row)) for row in conformance.VALUES
    ]


def test_writes_and_changes_of_the_schema(session) -> None:
    for sql, answer in WRITES:
        result = one(session, sql)
        done = result.ok and result.rows is None
        assert ("done" if done else answer_of(result)) == answer, sql


def test_what_changed_has_mysqls_values(session) -> None:
    one(session, "UPDATE typed SET price = price + 1 WHERE id = 1")
    changed = session.changed()["typed"]
    assert repr(sorted(changed.rows)[0][3]) == "Decimal('13.3400')"


REFUSED = [
    "LOAD DATA INFILE '/etc/passwd' INTO TABLE notes",
    "SELECT name FROM people INTO OUTFILE '/tmp/x'",
    "SELECT name INTO DUMPFILE '/tmp/x' FROM people",
    "GRANT ALL ON *.* TO 'x'",
    "ATTACH DATABASE '/tmp/x' AS y",
    "PRAGMA writable_schema = 1",
    "VACUUM INTO '/tmp/x'",
    "SHUTDOWN",
    "KILL 1",
    "INSTALL PLUGIN x SONAME 'y'",
    "CALL p()",
    "PREPARE s FROM 'SELECT 1'",
]


@pytest.mark.parametrize("sql", REFUSED)
def test_what_reaches_beyond_the_session_is_refused(session, sql: str) -> None:
    assert one(session, sql).refused


def test_a_file_is_not_read(session) -> None:
    assert one(session, "SELECT LOAD_FILE('/etc/passwd')").rows == ((None,),)


def test_sqlites_own_functions_and_tables_are_not_there(session) -> None:
    for sql in ("SELECT strftime('%Y', 'now')", "SELECT randomblob(9)", "SELECT my_left('ab', 1)"):
        assert "does not exist" in str(one(session, sql).error), sql
    for sql in ("SELECT * FROM sqlite_master", "SELECT * FROM pragma_table_info"):
        assert "doesn't exist" in str(one(session, sql).error), sql


MANY = "digits a, digits b, digits c, digits d, digits e, digits f, digits g, digits h"
SLOW = [
    f"SELECT SUM(CONCAT(REPEAT('a', 3000), a.d) REGEXP '(a+)+$') FROM {MANY}",
    f"SELECT SUM(CONCAT(REPEAT('a', 200000), a.d) LIKE '%a%a%a%a%b') FROM {MANY}",
    f"SELECT SLEEP(100), COUNT(*) FROM {MANY}, digits i",
    f"SELECT GROUP_CONCAT(a.d ORDER BY b.d) FROM {MANY}",
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT SUM(x) FROM c",
]


@pytest.mark.parametrize("sql", SLOW)
def test_a_timeout_is_kept(session, sql: str) -> None:
    began = time.monotonic()
    result = one(session, sql, QueryLimits(timeout_s=0.3))
    assert result.timed_out, result
    assert "maximum statement execution time exceeded" in str(result.error)
    assert time.monotonic() - began < 2


def test_only_full_group_by_is_a_mode() -> None:
    strict, loose = SQLite(full_group_by=True), SQLite()
    sql = "SELECT name, COUNT(*) FROM people GROUP BY age"
    determined = (
        "SELECT p.name, COUNT(*) FROM people p JOIN notes n ON n.person = p.id GROUP BY p.id"
    )
    sessions = [engine.open(CONTENT, dialect="mysql") for engine in (strict, loose)]
    assert "not functionally dependent" in str(one(sessions[0], sql).error)
    assert one(sessions[1], sql).ok
    assert one(sessions[0], determined).ok
    assert "incompatible with DISTINCT" in str(
        one(sessions[0], "SELECT DISTINCT name FROM people ORDER BY age").error
    )
    for session in sessions:
        session.close()


def test_text_beyond_ascii_is_compared_as_mysql_does(engine) -> None:
    rows = tuple((text,) for text in ("Äpfel", "apfel", "APFEL ", "straße", "_", "Z"))
    table = Table("t", (Column("a", "varchar(20)"),), rows)
    session = engine.open(Content("x", "mysql", (table,)))
    assert len(one(session, "SELECT a FROM t WHERE a = 'äPFEL'").rows) == 3
    assert one(session, "SELECT COUNT(DISTINCT a) FROM t").rows == ((4,),)
    assert one(session, "SELECT a FROM t ORDER BY a DESC LIMIT 2").rows == (("_",), ("Z",))
    assert one(session, "SELECT a FROM t WHERE a LIKE 'STRASE'").rows == (("straße",),)
    session.close()


@given(st.text("aAäÄbB _%\\", max_size=8), st.text("aAäÄbB", max_size=8))
def test_like_is_what_a_regular_expression_says(pattern: str, text: str) -> None:
    said, escaped = "", False
    for character in collate.fold(pattern):
        if escaped or character not in "\\%_":
            said += re.escape(character)
            escaped = False
        elif character == "\\":
            escaped = True
        else:
            said += {"%": "(?s:.*)", "_": "(?s:.)"}[character]
    said += re.escape("\\") if escaped else ""
    expected = re.fullmatch(said, collate.fold(text)) is not None
    assert collate.like(pattern, text) == expected


PIECES = st.lists(
    st.sampled_from(["a", "b", ".", "*", "+", "?", "|", "(", ")", "[ab]", "[^a]", "^", "$", "{2}"]),
    max_size=7,
)


@given(PIECES.map("".join), st.text("abc", max_size=6))
def test_a_pattern_is_found_where_python_finds_it(pattern: str, text: str) -> None:
    try:
        expected = re.compile(pattern, re.IGNORECASE | re.DOTALL).search(text)
        found = Pattern(pattern).search(text)
    except (re.error, ValueError):
        return
    if not re.search(r"[*+?}][+?]", pattern):  # possessive ones differ
        assert (found is None) == (expected is None)
        assert found is None or found[0] == expected.start()


def test_a_pattern_takes_linear_time() -> None:
    began = time.monotonic()
    assert Pattern("(a*)*(a|aa)+$").search("a" * 5000 + "!") is None
    assert time.monotonic() - began < 5


# against upstream's data


@pytest.fixture(scope="module")
def spider(data):
    dump = sections(data / "spider" / "ic_spider_dbs.sql", "mysql")
    return {name.lower(): content for name, content in dump.items()}


def run(engine, content, sql: str):
    session = engine.open(content, dialect="mysql")
    try:
        return session.execute(sql, several=False)[0]
    finally:
        session.close()


@pytest.mark.data
@pytest.mark.parametrize(
    ("record", "full_group_by", "least"),
    [("sql.jsonl.gz", True, 1015), ("sql_mariadb.jsonl.gz", False, 1000)],
)
def test_spiders_golds_give_what_the_server_gave(
    data, spider, record, full_group_by, least
) -> None:
    engine = SQLite(full_group_by=full_group_by)
    seen: Counter[str] = Counter()
    with gzip.open(data / "oracle" / record, "rt") as lines:
        for line in lines:
            gold = json.loads(line)
            if gold["kind"] != "gold" or not isinstance(gold["observation"], str):
                continue
            result = run(engine, spider[gold["db"].lower()], gold["gold"])
            seen[_agreement(result, gold["observation"])] += 1
    engine.close()
    assert seen["same"] >= least, seen


def _agreement(result, recorded: str) -> str:
    if result.rows is None or recorded.startswith("Error"):
        return "same" if bool(result.error) == recorded.startswith("Error") else "error"
    rows = recorded.count("(")
    ours = str(list(result.rows))
    same = sorted(re.findall(r"\w+", ours)) == sorted(re.findall(r"\w+", recorded))
    return "same" if same and rows == ours.count("(") else "different"


@pytest.mark.data
def test_recorded_turns_score_the_same(data, spider) -> None:
    engine = SQLite(full_group_by=True)
    known: dict[tuple[str, str], list[str] | None] = {}

    def rows(database: str, sql: str) -> list[str] | None:
        if (database, sql) not in known:
            found = run(engine, spider[database.lower()], sql).rows
            known[database, sql] = None if found is None else [str(row) for row in found]
        return known[database, sql]

    same = total = 0
    path = data / "reward_goldens" / "sql_original_cases.jsonl.gz"
    with gzip.open(path, "rt") as lines:
        for line in lines:
            case = json.loads(line)
            score = score_texts(
                rows(case["db"], case["action"]), rows(case["db"], case["gold"]) or []
            )
            total += 1
            same += round(score.reward, 4) == round(case["reward"], 4)
    engine.close()
    assert same / total >= 0.985


def test_answers_are_python_values() -> None:
    plain = [answer for _, answer in ANSWERS if not re.search("error|Decimal|datetime", answer)]
    assert all(isinstance(ast.literal_eval(answer), list) for answer in plain)
