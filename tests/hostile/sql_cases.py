"""Statements that mean harm, or that harm without meaning to, for every SQL engine.

Each ends in a bounded, clear result; the session lives on, and the next one is pristine.
"""

from __future__ import annotations

from dataclasses import dataclass

EVERY = ("sqlite", "mysql", "postgres", "duckdb")
FILE = "/tmp/intercode-hostile-file"
"""Whatever writes a file would write this one."""


@dataclass(frozen=True)
class Case:
    """``sql`` is run as one text. ``fails``: its last result must be an error; None: either."""

    name: str
    sql: str
    engines: tuple[str, ...] = EVERY
    fails: bool | None = None


def _only(engine: str, fails: bool | None, cases: dict[str, str]) -> list[Case]:
    return [Case(f"{engine}: {name}", sql, (engine,), fails) for name, sql in cases.items()]


_NUMBERS = (
    "(SELECT 1 n UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5)"
)
_CROSS = ", ".join(f"{_NUMBERS} t{n}" for n in range(16))

EVERYWHERE = [
    Case("endless recursion", "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n FROM c) "
         "SELECT count(*) FROM c"),
    Case("counting recursion", "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) "
         "SELECT n FROM c"),
    Case("doubling recursion", "WITH RECURSIVE c (s) AS (SELECT 'xxxxxxxx' UNION ALL SELECT "
         "s FROM c UNION ALL SELECT s FROM c) SELECT count(*) FROM c"),
    Case("a cross join counted", f"SELECT count(*) FROM {_CROSS}", fails=True),
    Case("a cross join fetched", f"SELECT * FROM {_CROSS}"),
    Case("a cross join sorted", f"SELECT t1.n FROM {_CROSS} ORDER BY t1.n + t2.n, t3.n",
         fails=True),
    Case("a cross join written", f"INSERT INTO notes (person) SELECT t1.n FROM {_CROSS}",
         fails=True),
    Case("a table that eats itself", "INSERT INTO notes SELECT id, name FROM people; "
         + "; ".join(["INSERT INTO notes SELECT * FROM notes"] * 26)),
    Case("a NUL byte", "SELECT 'a\0b'"),
    Case("a NUL byte outside", "SELECT 1 \0; DROP TABLE people"),
    Case("a lone surrogate", "SELECT '\udcff\ud800'", fails=True),
    Case("control characters", "SELECT '\x01\x02\x1b[31m\x7f\u202e'"),
    Case("a megabyte of text", "SELECT '" + "x" * 1_000_000 + "'"),
    Case("a megabyte of numbers", "SELECT " + "1+" * 500_000 + "1"),
    Case("sixteen megabytes", "SELECT '" + "y" * 16_000_000 + "'", fails=True),
    Case("ten thousand columns", "SELECT " + ",".join(["1"] * 10_000)),
    Case("brackets in brackets", "SELECT " + "(" * 20_000 + "1" + ")" * 20_000),
    Case("queries in queries", "SELECT * FROM (" * 400 + "SELECT 1 a" + ") t" * 400),
    Case("NOT without end", "SELECT " + "NOT " * 20_000 + "1"),
    Case("CASE in CASE", "SELECT " + "CASE WHEN 1=1 THEN " * 2_000 + "1" + " END" * 2_000),
    Case("unions without end", " UNION ALL ".join(["SELECT 1"] * 3_000)),
    Case("hundreds of statements", ";".join(["SELECT 1"] * 500), fails=False),
    Case("a hundred inserts", ";".join(["INSERT INTO notes VALUES (1, 'x')"] * 100), fails=False),
    Case("nothing but semicolons", ";" * 10_000, fails=True),
    Case("an open string", "SELECT 'abc", fails=True),
    Case("an open comment", "SELECT 1 /* abc"),
    Case("a comment that hides", "SELECT 1 -- ; DROP TABLE people\n; SELECT 2", fails=False),
    Case("deleting everything", "DELETE FROM notes; DELETE FROM people", fails=False),
    Case("deleting and committing", "BEGIN; DELETE FROM people; COMMIT; BEGIN; DELETE FROM notes"),
    Case("commit without begin", "DELETE FROM people; COMMIT; COMMIT; COMMIT"),
    Case("rollback without end", "ROLLBACK; " * 50),
    Case("begin in begin", "BEGIN; BEGIN; BEGIN; DELETE FROM people; COMMIT"),
    Case("savepoints", "BEGIN; " + "".join(f"SAVEPOINT s{n}; " for n in range(200))
         + "DELETE FROM people; ROLLBACK TO SAVEPOINT s5; COMMIT"),
    Case("a savepoint of ours", "SAVEPOINT intercode_statement; ROLLBACK TO intercode_block"),
    Case("dropping everything", "DROP TABLE notes; DROP TABLE people"),
    Case("tables by the hundred", ";".join(f"CREATE TABLE t{n} (a int)" for n in range(150)),
         fails=False),
    Case("a table of our names", "CREATE TABLE intercode_template (a int)", fails=False),
    Case("a view that loops", "CREATE VIEW v AS SELECT * FROM people; DROP TABLE people; "
         "CREATE VIEW people AS SELECT * FROM v; SELECT * FROM people"),
    Case("division by zero", "SELECT 1 / 0, 1 % 0"),
    Case("the largest numbers", "SELECT 9223372036854775807 + 1, -1e308 * 10"),
    Case("grants", "GRANT ALL ON people TO root", fails=None),
    Case("a user", "CREATE USER evil IDENTIFIED BY 'x'", fails=True),
    Case("a role", "CREATE ROLE evil", fails=True),
    Case("a database", "CREATE DATABASE evil", fails=True),
    Case("copying to a file", f"COPY people TO '{FILE}'", fails=True),
    Case("copying from a file", "COPY notes FROM '/etc/passwd'", fails=True),
    Case("a program", f"COPY notes FROM PROGRAM 'touch {FILE}'", fails=True),
    Case("attaching", f"ATTACH DATABASE '{FILE}' AS f", fails=True),
    Case("attaching without the word", f"ATTACH '{FILE}' AS f", fails=True),
    Case("an extension", "SELECT load_extension('/lib/x86_64-linux-gnu/libc.so.6')", fails=True),
    Case("a pragma", "PRAGMA journal_mode = OFF"),
    Case("a client's own word", "DELIMITER //\nSELECT 1//\nDELIMITER ;", fails=True),
    Case("a dot command", ".shell touch " + FILE, fails=True),
    Case("a backslash command", "\\! touch " + FILE, fails=True),
]  # fmt: skip

MYSQL = _only("mysql", None, {
    "sleeping": "SELECT SLEEP(1000)",
    "sleeping for each row": "SELECT SLEEP(1000) FROM people",
    "benchmark": "SELECT BENCHMARK(9999999999, SHA2('x', 512))",
    "a huge string": "SELECT REPEAT('a', 1000000000)",
    "many large strings": "SELECT " + ", ".join(["REPEAT('a', 16000000)"] * 60),
    "a huge concatenation": "SET group_concat_max_len = 4294967295; SELECT GROUP_CONCAT("
    "REPEAT('x', 1000000)) FROM seq_1_to_100000",
    "a string in a variable": "SET @a = REPEAT('a', 10000000); "
    + "SET @a = CONCAT(@a, @a); " * 12 + "SELECT LENGTH(@a)",
    "a slow pattern": "SELECT REPEAT('a', 60) REGEXP '^(a+)+$b'",
    "locked tables": "LOCK TABLES people WRITE; SELECT * FROM notes",
    "an unfinished handler": "HANDLER people OPEN; HANDLER people READ FIRST",
    "everything to a variable": "SELECT name INTO @n FROM people LIMIT 1",
    "a temporary table in the way": "CREATE TEMPORARY TABLE people (a int)",
    "another sql_mode": "SET sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES'; SELECT \"name\" FROM people",
    "another character set": "SET NAMES latin1; SELECT name FROM people",
    "another set of results": "SET character_set_results = binary; SELECT name FROM people",
    "few rows": "SET sql_select_limit = 1; SELECT * FROM people",
    "no foreign keys": "SET foreign_key_checks = 0; DROP TABLE people; DROP TABLE notes",
    "a database less": "DROP DATABASE conformance; SELECT DATABASE()",
    "a database less and back": "DROP DATABASE conformance; CREATE DATABASE conformance",
    "a procedure": "CREATE PROCEDURE p() BEGIN WHILE TRUE DO SET @a = 1; END WHILE; END; CALL p()",
    "a procedure with results": "CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; SELECT 3; END; "
    "CALL p()",
    "a procedure that commits": "CREATE PROCEDURE p() BEGIN DELETE FROM people; COMMIT; END; "
    "CALL p()",
    "a function that writes": "CREATE FUNCTION f() RETURNS INT BEGIN DELETE FROM people; RETURN 1; "
    "END; SELECT f(); COMMIT",
    "a procedure that calls itself": "SET max_sp_recursion_depth = 255; CREATE PROCEDURE p() CALL "
    "p(); CALL p()",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON notes FOR EACH ROW DELETE FROM people; "
    "INSERT INTO notes VALUES (1, 'x'); COMMIT",
    "prepared from a variable": "SET @s = 'DELETE FROM people'; PREPARE s FROM @s; EXECUTE s; "
    "COMMIT",
    "at once": "EXECUTE IMMEDIATE 'DROP TABLE people'",
    "an executable comment": "/*!50000 DELETE FROM people */; /*M! COMMIT */; COMMIT",
    "the wrong names": "SELECT * FROM `intercode_000000000000_1`.people",
    "another's processes": "SHOW FULL PROCESSLIST; SELECT * FROM information_schema.processlist",
    "a leaving commit": "DELETE FROM people; COMMIT RELEASE",
    "a bitter end": "COMMIT AND CHAIN RELEASE; SELECT 1",
    "a memory table": "CREATE TABLE m (a text) ENGINE = Aria; INSERT INTO m SELECT "
    "REPEAT('x', 60000) FROM seq_1_to_100000",
    "a large sort": "SELECT REPEAT(a.seq, 2000) x FROM seq_1_to_200000 a ORDER BY x DESC LIMIT 3",
    "deep JSON": "SELECT JSON_VALID(REPEAT('[', 100000))",
    "XML": "SELECT ExtractValue(REPEAT('<a>', 10000), '//a')",
    "bad UTF-8": "SELECT _utf8mb4 x'ff', CAST(x'c328' AS CHAR), CONVERT(x'ff' USING utf8mb4)",
    "no date": "SELECT DATE '0000-00-00', TIMESTAMP('9999-12-31 23:59:59.999999')",
}) + _only("mysql", True, {
    "a file": "SELECT * FROM people INTO OUTFILE '" + FILE + "'",
    "a dump": "SELECT 1 INTO DUMPFILE '" + FILE + "'",
    "loading": "LOAD DATA INFILE '/etc/passwd' INTO TABLE notes",
    "loading locally": "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE notes",
    "a global": "SET GLOBAL max_connections = 1",
    "a global otherwise": "SET @@global.general_log = 1",
    "no time limit": "SET max_statement_time = 0; SELECT SLEEP(100)",
    "no time limit for one": "SET STATEMENT max_statement_time = 0 FOR SELECT SLEEP(100)",
    "more memory": "SET max_session_mem_used = 1000000000000",
    "the end of another": "KILL 1",
    "the end of itself": "KILL CONNECTION_ID()",
    "the end of itself by a detour": "EXECUTE IMMEDIATE CONCAT('KILL ', CONNECTION_ID())",
    "the end of all": "SHUTDOWN",
    "flushing": "FLUSH TABLES WITH READ LOCK",
    "resetting": "RESET MASTER",
    "a named lock": "SELECT GET_LOCK('all', 100)",
    "a named lock by a detour": "SET @s = 'SELECT GET_LOCK(1, 1)'; PREPARE s FROM @s; EXECUTE s",
    "a distributed transaction": "XA START 'x'",
    "its own password": "SET PASSWORD = PASSWORD('x')",
    "its own account": "ALTER USER CURRENT_USER() IDENTIFIED BY 'x'",
    "the users": "SELECT * FROM mysql.user",
    "an event": "CREATE EVENT e ON SCHEDULE EVERY 1 SECOND DO DELETE FROM people",
    "a plugin": "INSTALL SONAME 'ha_spider'",
    "a function in C": "CREATE FUNCTION lib_mysqludf_sys_exec RETURNS INT SONAME 'x.so'",
    "another database": "USE mysql",
    "a linked table": "CREATE TABLE f (a int) ENGINE = FEDERATED CONNECTION = 'mysql://root@/x/y'",
    "a table elsewhere": f"CREATE TABLE f (a int) ENGINE = MyISAM DATA DIRECTORY = '{FILE}'; "
    "SELECT * FROM f, nosuch",
})  # fmt: skip

POSTGRES = _only("postgres", None, {
    "a huge string": "SELECT repeat('a', 1000000000)",
    "many large strings": "SELECT " + ", ".join(["repeat('a', 100000000)"] * 12),
    "a huge array": "SELECT array_agg(repeat('x', 1000)) FROM generate_series(1, 10000000)",
    "a slow pattern": "SELECT repeat('a', 60) ~ '^(a|aa)+$b'",
    "endless rows": "SELECT generate_series(1, 9e15::int8)",
    "a large sort": "SELECT repeat(n::text, 100) x FROM generate_series(1, 50000000) n ORDER BY x",
    "locked tables": "BEGIN; LOCK TABLE people IN ACCESS EXCLUSIVE MODE",
    "a cursor": "DECLARE c CURSOR FOR SELECT generate_series(1, 1000000000); FETCH 5 FROM c",
    "a held cursor": "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM people; COMMIT; "
    "FETCH ALL FROM c",
    "another path": "SET search_path = pg_temp; CREATE TEMP TABLE people (a int)",
    "another role": "SET ROLE NONE; RESET SESSION AUTHORIZATION",
    "another isolation": "BEGIN; SET TRANSACTION READ ONLY; SELECT 1",
    "a block without end": "DO $$ BEGIN LOOP END LOOP; END $$",
    "a block that commits": "DO $$ BEGIN DELETE FROM people; COMMIT; END $$",
    "a block that makes": "DO $$ BEGIN FOR i IN 1..200 LOOP EXECUTE 'CREATE TABLE x' || i || "
    "' (a int)'; END LOOP; END $$",
    "a function that calls itself": "CREATE FUNCTION f(int) RETURNS int LANGUAGE sql AS "
    "'SELECT 1'; CREATE OR REPLACE FUNCTION f(int) RETURNS int LANGUAGE sql AS 'SELECT f($1)'; "
    "SELECT f(1)",
    "a trigger": "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM "
    "people; RETURN NEW; END $$; CREATE TRIGGER t BEFORE INSERT ON notes FOR EACH ROW EXECUTE "
    "FUNCTION f(); INSERT INTO notes VALUES (1, 'x'); COMMIT",
    "a rule": "CREATE RULE r AS ON INSERT TO notes DO ALSO DELETE FROM people; INSERT INTO notes "
    "VALUES (1, 'x')",
    "a sequence": "CREATE SEQUENCE s; SELECT nextval('s')",
    "privileges": "REVOKE ALL ON people FROM CURRENT_USER; SELECT * FROM people",
    "quoted dollars": "SELECT $a$ ; DROP TABLE people; $a$",
    "an escaped string": "SELECT E'\\'; DROP TABLE people; --'",
    "dates beyond Python": "SELECT 'infinity'::date, '4713-01-01 BC'::timestamp",
    "no number": "SELECT 'NaN'::numeric, 'Infinity'::float8, 1e131071::numeric",
    "deep JSON": "SELECT repeat('[', 100000)::json",
    "a notification": "NOTIFY everybody, 'hello'",
    "statistics": "ANALYZE people",
}) + _only("postgres", True, {
    "sleeping": "SELECT pg_sleep(1000)",
    "a file read": "SELECT pg_read_file('/etc/passwd')",
    "a file listed": "SELECT pg_ls_dir('/')",
    "a large object": "SELECT lo_import('/etc/passwd')",
    "a large object made": "SELECT lo_create(0)",
    "a large object exported": f"SELECT lo_export(1, '{FILE}')",
    "a program": f"COPY people TO PROGRAM 'cat > {FILE}'",
    "copying to the client": "COPY people TO STDOUT",
    "copying from the client": "COPY people FROM STDIN",
    "another database": "CREATE EXTENSION dblink",
    "a foreign server": "CREATE EXTENSION postgres_fdw",
    "an untrusted language": "CREATE EXTENSION plpython3u",
    "a function in C": "CREATE FUNCTION f() RETURNS int LANGUAGE c AS '/lib/libc.so.6', 'getpid'",
    "the server's settings": "ALTER SYSTEM SET fsync = on",
    "the database's settings": "ALTER DATABASE postgres SET work_mem = '1GB'",
    "its own settings": "ALTER ROLE CURRENT_USER SET work_mem = '1GB'",
    "its own password": "ALTER USER CURRENT_USER PASSWORD 'x'",
    "more memory": "SET work_mem = '100GB'",
    "more memory by a detour": "SELECT set_config('work_mem', '100GB', false)",
    "no time limit": "SET statement_timeout = 0; SELECT pg_sleep(100)",
    "the end of another": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity",
    "the end of itself": "SELECT pg_terminate_backend(pg_backend_pid())",
    "an advisory lock": "SELECT pg_advisory_lock(1)",
    "a prepared transaction": "BEGIN; DELETE FROM people; PREPARE TRANSACTION 'x'",
    "listening": "LISTEN everybody",
    "vacuum": "VACUUM FULL",
    "a tablespace": "CREATE TABLESPACE t LOCATION '/tmp'",
    "the passwords": "SELECT * FROM pg_authid",
    "the other databases": "SELECT datname FROM pg_database",
    "another user": "SET SESSION AUTHORIZATION postgres",
    "loading": "LOAD '/lib/x86_64-linux-gnu/libc.so.6'",
    "a checkpoint": "CHECKPOINT",
})  # fmt: skip

SQLITE = _only("sqlite", None, {
    "a huge string": "SELECT printf('%1000000000d', 1)",
    "a huge blob": "SELECT length(randomblob(1000000000)), length(zeroblob(1000000000))",
    "a slow pattern": "SELECT '" + "a" * 40 + "' LIKE '" + "%a" * 20 + "b'",
    "a writable schema": "PRAGMA writable_schema = 1; DELETE FROM sqlite_master",
    "memory": "PRAGMA cache_size = -10000000; PRAGMA temp_store = 1",
    "its page size": "PRAGMA page_size = 65536; VACUUM",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON notes BEGIN DELETE FROM people; END; "
    "INSERT INTO notes VALUES (1, 'x')",
}) + _only("sqlite", True, {
    "vacuum into a file": f"VACUUM INTO '{FILE}'",
    "a file written": f"SELECT writefile('{FILE}', 'x')",
    "a file read": "SELECT readfile('/etc/passwd')",
    "attaching memory": "ATTACH ':memory:' AS m",
    "a temporary folder": "PRAGMA temp_store_directory = '/tmp'; SELECT nosuch",
})  # fmt: skip

DUCKDB = _only("duckdb", None, {
    "a huge string": "SELECT repeat('a', 1000000000)",
    "a huge list": "SELECT range(1000000000)",
    "endless rows": "SELECT * FROM range(1000000000000)",
    "a large sort": "SELECT repeat(n::varchar, 100) x FROM range(50000000) t(n) ORDER BY x",
}) + _only("duckdb", True, {
    "a file read": "SELECT * FROM read_csv('/etc/passwd')",
    "a file as a table": "SELECT * FROM '/etc/passwd'",
    "a text": "SELECT * FROM read_text('/etc/passwd')",
    "a listing": "SELECT * FROM glob('/*')",
    "exporting": f"EXPORT DATABASE '{FILE}'",
    "an extension": "INSTALL httpfs",
    "loading": "LOAD httpfs",
    "its settings": "SET enable_external_access = true",
    "its memory": "SET memory_limit = '100GB'",
    "a secret": "CREATE SECRET s (TYPE s3)",
})  # fmt: skip

CASES = [*EVERYWHERE, *MYSQL, *POSTGRES, *SQLITE, *DUCKDB]
