"""Databases read from files and scripts."""

import sqlite3
from collections import Counter
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from intercode.engines.content import ForeignKey
from intercode.engines.read import from_script, from_sqlite, sections
from intercode.errors import DatasetError

DUMP = r"""
CREATE USER 'admin'@'%' IDENTIFIED BY 'x;y';
CREATE DATABASE IF NOT EXISTS `one` /*!40100 DEFAULT CHARACTER SET utf8mb4 */;
USE `one`;
/*!40101 SET @OLD=@@CHARACTER_SET_CLIENT */;
-- a comment; with a semicolon
DROP TABLE IF EXISTS `child`;
CREATE TABLE `child` (
  `id` int NOT NULL AUTO_INCREMENT,
  `key` varchar(20) COLLATE utf8mb4_general_ci DEFAULT 'a,b)',
  `price` decimal(10,2) unsigned DEFAULT NULL,
  `at` datetime DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  `day` date, `span` time, `kind` enum('x','y''z') NOT NULL, `raw` blob, `ratio` double,
  PRIMARY KEY (`id`), UNIQUE KEY `u` (`key`(10)), KEY `k` (`day`),
  CONSTRAINT `fk` FOREIGN KEY (`id`) REFERENCES `parent` (`pid`) ON DELETE CASCADE
) ENGINE=InnoDB AUTO_INCREMENT=3 DEFAULT CHARSET=utf8mb4;
LOCK TABLES `child` WRITE;
/*!40000 ALTER TABLE `child` DISABLE KEYS */;
INSERT INTO `child` VALUES (1,'it\'s; (a) "b"\n',1.5,'2020-01-02 03:04:05','2020-01-02',
 '-01:02:03','x',_binary 'ab\0c',-2e3),(2,'\\',NULL,'0000-00-00 00:00:00',NULL,NULL,'y''z',
 0x00FF,NULL);
UNLOCK TABLES;
CREATE VIEW `v` AS SELECT 1;
USE two;
CREATE TABLE t (a int PRIMARY KEY, b text REFERENCES other);
INSERT INTO t (b) VALUES ("say ""hi"" ");
"""


def test_a_mysql_dump_keeps_types_keys_and_words() -> None:
    content = from_script(DUMP, "mysql", "one")
    (table,) = content.tables
    assert (content.name, content.dialect, table.name) == ("one", "mysql", "child")
    assert [column.type for column in table.columns] == [
        "int", "varchar(20)", "decimal(10,2) unsigned", "datetime", "date", "time",
        "enum('x','y''z')", "blob", "double",
    ]  # fmt: skip
    assert [c.name for c in table.columns if not c.nullable] == ["id", "kind"]
    assert table.primary_key == ("id",)
    assert table.foreign_keys == (ForeignKey(("id",), "parent", ("pid",)),)
    assert table.ddl is not None
    assert table.ddl in DUMP
    assert table.ddl.endswith("CHARSET=utf8mb4")
    assert content.extra == {"v": "CREATE VIEW `v` AS SELECT 1"}


def test_values_are_what_the_column_says() -> None:
    (table,) = from_script(DUMP, "mysql", "one").tables
    assert table.rows == (
        (
            1, "it's; (a) \"b\"\n", Decimal("1.50"), datetime(2020, 1, 2, 3, 4, 5),
            date(2020, 1, 2), -timedelta(hours=1, minutes=2, seconds=3), "x", b"ab\0c", -2000.0,
        ),
        (2, "\\", None, "0000-00-00 00:00:00", None, None, "y'z", b"\x00\xff", None),
    )  # fmt: skip
    assert str(table.rows[0][2]) == "1.50"


def test_columns_that_an_insert_leaves_out_are_null() -> None:
    assert from_script(DUMP, "mysql", "two").tables[0].rows == ((None, 'say "hi" '),)


def test_one_of_several_databases_must_be_named() -> None:
    with pytest.raises(DatasetError, match="one, two"):
        from_script(DUMP, "mysql")
    with pytest.raises(DatasetError, match="no database 'three'"):
        from_script(DUMP, "mysql", "three")
    assert set(sections(DUMP, "mysql")) == {"one", "two"}


@pytest.mark.parametrize(
    ("text", "line", "complaint"),
    [
        ("CREATE TABLE t (a int);\n\nINSERT INTO t VALUES (1, 2);", 3, "2 values for 1 columns"),
        ("CREATE TABLE t (a int);\nINSERT INTO t VALUES (now());", 2, "not a value"),
        ("CREATE TABLE t (a int);\nINSERT INTO u VALUES (1);", 2, "no table 'u'"),
        ("\nCREATE TABLE t a int", 2, "expected"),
        ("CREATE TABLE t (a int", 1, "ends too early"),
        ("\n\nhello", 3, "cannot be read: hello"),
        ("CREATE TABLE t (a int);\nINSERT INTO t VALUES (1", 2, "does not end"),
        ("CREATE TABLE t (a int); INSERT INTO t (b) VALUES (1)", 1, "no column 'b'"),
        ("COPY t FROM stdin;", 1, "--inserts"),
    ],
)
def test_an_error_names_the_line(text: str, line: int, complaint: str) -> None:
    with pytest.raises(DatasetError, match=rf"script:{line}: .*{complaint}"):
        from_script(text, "mysql")


def test_a_postgres_script_with_keys_behind_the_tables() -> None:
    script = """
    CREATE TABLE public.a (id integer NOT NULL, ok boolean, t timestamp without time zone,
        name character varying(20) DEFAULT 'x'::character varying);
    INSERT INTO public.a VALUES (1, true, '2020-01-01 00:00:00', E'a\\nb'), (2, 'f', NULL, 'it''s');
    ALTER TABLE ONLY public.a ADD CONSTRAINT a_pkey PRIMARY KEY (id);
    ALTER TABLE ONLY public.a ADD CONSTRAINT f FOREIGN KEY (id) REFERENCES public.b(id);
    """
    (table,) = from_script(script, "postgres").tables
    assert table.primary_key == ("id",)
    assert table.foreign_keys == (ForeignKey(("id",), "b", ("id",)),)
    assert table.columns[3].type == "character varying(20)"
    assert table.rows == (
        (1, True, datetime(2020, 1, 1), "a\nb"),
        (2, False, None, "it's"),
    )


def test_a_sqlite_script_reads_as_sqlite_does(tmp_path) -> None:
    script = """
    PRAGMA foreign_keys=OFF; BEGIN TRANSACTION;
    CREATE TABLE "a b" (id INTEGER PRIMARY KEY AUTOINCREMENT, x TEXT, [y] REAL, z);
    INSERT INTO "a b" VALUES(1,'it''s \\ ',2,X'00'); INSERT INTO "a b" VALUES(2,NULL,1.5,'1');
    CREATE INDEX i ON "a b" (x); COMMIT;
    """
    read = from_script(script, "sqlite")
    path = tmp_path / "made.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(script)
    connection.close()
    assert read.tables == from_sqlite(path).tables
    assert read.extra == from_sqlite(path).extra


def test_a_sqlite_file_comes_as_it_is(tmp_path) -> None:
    path = tmp_path / "odd %?#.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE t (a TEXT, b INT, PRIMARY KEY (b, a), FOREIGN KEY (a) REFERENCES u (x));"
        "CREATE VIEW v AS SELECT a FROM t;"
        "INSERT INTO t VALUES (CAST(x'ff41' AS TEXT), 'word'), (x'00', 2.5)"
    )
    connection.commit()
    connection.close()
    content = from_sqlite(path)
    (table,) = content.tables
    assert table.rows == (("\udcffA", "word"), (b"\0", 2.5))
    assert table.primary_key == ("b", "a")
    assert table.foreign_keys == (ForeignKey(("a",), "u", ("x",)),)
    assert content.extra == {"v": "CREATE VIEW v AS SELECT a FROM t"}
    assert content.digest == from_sqlite(path).digest


def test_what_is_no_database_says_so(tmp_path) -> None:
    path = tmp_path / "no.sqlite"
    path.write_bytes(b"SQLite? not at all" * 100)
    with pytest.raises(DatasetError, match="not a readable SQLite database"):
        from_sqlite(path)
    with pytest.raises(DatasetError, match="no such file"):
        from_sqlite(tmp_path / "none")


@pytest.mark.data
def test_spiders_dump_holds_the_rows_of_its_sqlite_copy(data) -> None:
    spider = data / "spider"
    dump = sections(spider / "ic_spider_dbs.sql", "mysql")
    assert len(dump) == 20
    for name, content in dump.items():
        copy = from_sqlite(spider / "sqlite_intercode" / name / f"{name}.sqlite")
        ours = {table.name.lower(): table for table in content.tables}
        theirs = {table.name.lower(): table for table in copy.tables}
        assert ours.keys() == theirs.keys()
        for key, table in ours.items():
            assert Counter(map(_plain, table.rows)) == Counter(theirs[key].rows), (name, key)
            assert set(map(str.lower, table.primary_key)) == set(
                map(str.lower, theirs[key].primary_key)
            )


def _plain(row: tuple) -> tuple:
    return tuple(
        float(v) if isinstance(v, Decimal) else v.isoformat(" ") if isinstance(v, datetime)
        else v.isoformat() if isinstance(v, date) else v
        for v in row
    )  # fmt: skip


@pytest.mark.data
def test_wikisqls_script(data) -> None:
    content = from_script(data / "wikisql" / "ic_wikisql_dev.sql", "mysql", "dev")
    assert (len(content.tables), sum(len(table.rows) for table in content.tables)) == (50, 835)
