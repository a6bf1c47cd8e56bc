"""SQL text split into tokens and statements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intercode.engines.base import DIALECTS
from intercode.engines.lexer import string_value, tokens
from intercode.engines.statements import kind_of, split

PIECES = st.sampled_from(
    [
        *";'\"`$#-/*\\()[], \n", "--", "/*", "*/", "/*!40101 ", "$$", "$a$", "E'", "x'", "BEGIN",
        "END", "CASE", "CREATE", "TRIGGER", "FUNCTION", "select", "a", "1.5e3", "0x1f",
        "é", "DELIMITER",
    ]
)  # fmt: skip
TEXTS = st.one_of(st.text(), st.lists(PIECES).map("".join), st.lists(PIECES).map(" ".join))


@given(TEXTS, st.sampled_from(DIALECTS))
def test_tokens_are_the_text_again(text: str, dialect: str) -> None:
    assert "".join(token.text for token in tokens(text, dialect)) == text


@given(TEXTS, st.sampled_from(DIALECTS))
def test_statements_join_back(text: str, dialect: str) -> None:
    parts = split(text, dialect)
    assert split(";\n".join(parts), dialect) == parts
    assert all(part and part in text for part in parts)


@given(TEXTS, st.sampled_from(DIALECTS))
def test_nothing_but_blanks_comments_and_semicolons_is_lost(text: str, dialect: str) -> None:
    def said(sql: str) -> list[str]:
        skip = ("space", "comment")
        return [t.text for t in tokens(sql, dialect) if t.kind not in skip and t.text != ";"]

    assert [word for part in split(text, dialect) for word in said(part)] == said(text)


@given(TEXTS, st.sampled_from(DIALECTS))
def test_a_kind_never_raises(text: str, dialect: str) -> None:
    assert kind_of(text, dialect) == kind_of(text, dialect).lower()


TRIGGER = (
    "create trigger t after insert on x begin select case when 1 then 2 end; delete from y; end"
)


@pytest.mark.parametrize(
    ("dialect", "text", "statements"),
    [
        ("sqlite", "select 1; -- a;b\nselect 'a;''b';", ["select 1", "select 'a;''b'"]),
        ("sqlite", "select [a;b], `c;`, \"d;\"", ["select [a;b], `c;`, \"d;\""]),
        ("sqlite", f"{TRIGGER}; select 3", [TRIGGER, "select 3"]),
        ("sqlite", "begin; select 1; end", ["begin", "select 1", "end"]),
        ("mysql", r"select 'it\'s;'; select 2", [r"select 'it\'s;'", "select 2"]),
        ("mysql", "select 1 # x;y\n; select 5--1;", ["select 1", "select 5--1"]),
        ("mysql", "/*!40101 SET @x=1 */; /* ; */", ["/*!40101 SET @x=1 */"]),
        (
            "mysql",
            "create procedure p() begin if 1 then select 1; end if; select 2; end; select 3",
            [
                "create procedure p() begin if 1 then select 1; end if; select 2; end",
                "select 3",
            ],
        ),
        ("postgres", "select $$a;b$$; select $t$;$$;$t$", ["select $$a;b$$", "select $t$;$$;$t$"]),
        ("postgres", "/* /* ; */ ; */ select E'\\';'", ["select E'\\';'"]),
        ("postgres", r"select '\'; select 2", [r"select '\'", "select 2"]),
        ("duckdb", "select 1;;;\n;select 2", ["select 1", "select 2"]),
        ("mysql", "select 'open; select 2", ["select 'open; select 2"]),
        ("mysql", "  ;\n-- only this\n", []),
    ],
)  # fmt: skip
def test_statements_end_where_the_dialect_says(
    dialect: str, text: str, statements: list[str]
) -> None:
    assert split(text, dialect) == statements


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("SELECT 1", "select"),
        ("/* a */ -- b\n ((select 1))", "select"),
        ("with a as (select 1), b as (select 2) insert into c select * from b", "insert"),
        ("WITH RECURSIVE a(x) AS (SELECT 1) SELECT * FROM a", "select"),
        ("show tables", "show"),
        ("", ""),
        ("42", ""),
        ("with", "with"),
    ],
)
def test_the_kind_is_the_verb(statement: str, kind: str) -> None:
    assert kind_of(statement) == kind


@pytest.mark.parametrize(
    ("dialect", "text", "value"),
    [
        ("mysql", r"'a\n\'\\\%''b'", "a\n'\\%'b"),
        ("mysql", '"a\\"b"', 'a"b'),
        ("sqlite", r"'a\n''b'", "a\\n'b"),
        ("postgres", r"E'\x41\u00e9\101\n'", "A\u00e9A\n"),
        ("postgres", "$x$a'$x$", "a'"),
    ],
)
def test_strings_say_what_the_dialect_means(dialect: str, text: str, value: str) -> None:
    (token,) = tokens(text, dialect)
    assert string_value(token, dialect) == value
