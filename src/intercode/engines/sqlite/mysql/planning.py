"""A statement of MySQL made into what the session does: an answer known already, or statements of
SQLite with what their rows are to become."""

from __future__ import annotations

from dataclasses import dataclass

from intercode.engines.lexer import significant
from intercode.engines.sqlite.mysql import faults, kinds, shaping, show, syntax, writes
from intercode.engines.sqlite.mysql.faults import Fault
from intercode.engines.sqlite.mysql.kinds import Decoder
from intercode.engines.sqlite.mysql.rewrite import Rewriter, Setting
from intercode.engines.statements import kind_of


@dataclass(frozen=True)
class Plan:
    """``statements`` are run in turn, the last one's rows decoded; or ``answer`` is given; or
    ``fault`` is the error. ``control`` is a word of transaction control. ``shapes``: the schema is
    changed."""

    statements: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    decoders: tuple[tuple[int, Decoder], ...] = ()
    answer: show.Answer | None = None
    fault: str | None = None
    refused: bool = False
    control: str = ""
    shapes: bool = False


_CONTROL = ("begin", "start", "commit", "rollback", "savepoint", "release")
_REFUSED = frozenset(
    [
        *("grant", "revoke", "load", "handler", "install", "uninstall", "shutdown", "kill"),
        *("call", "prepare", "execute", "deallocate", "import", "clone", "restart", "purge"),
        *("change", "reset", "attach", "detach", "pragma", "vacuum", "copy"),
    ]
)
_VERBS = frozenset(
    [
        *("select", "insert", "update", "delete", "replace", "values", "table", "with", "create"),
        *("alter", "drop", "truncate", "rename", "explain", "desc", "describe"),
    ]
)
_NO_FILES = (
    "The MySQL server is running with the --secure-file-priv option so it cannot execute this"
    " statement"
)


def plan(statement: str, setting: Setting) -> Plan:
    """Never raises for what a statement may be."""
    try:
        return _plan(statement, setting)
    except Fault as fault:
        return Plan(fault=str(fault))
    except RecursionError:
        return Plan(fault="Thread stack overrun: the expression is too deep")
    except Exception as error:
        # Whatever an agent wrote that is not foreseen here is its statement's failure.
        return Plan(fault=f"This statement is not supported by this engine ({error!r:.200})")


def _plan(statement: str, setting: Setting) -> Plan:
    verb = kind_of(statement)
    if verb in _CONTROL:
        return Plan(control=statement)
    if verb in _REFUSED:
        return _refusal(statement, verb)
    if verb in ("show", "desc", "describe", "explain", "use", "set", "lock", "unlock", "flush",
                "analyze", "optimize", "do"):  # fmt: skip
        answer = show.answer(statement, setting)
        if answer is not None:
            return Plan(answer=answer)
    if verb not in _VERBS:
        raise faults.syntax(statement)
    words = [token.upper for token in significant(statement, "mysql")]
    if "INTO" in words and ("OUTFILE" in words or "DUMPFILE" in words):
        return Plan(fault=_NO_FILES, refused=True)
    if verb == "create" and "TABLE" in words[:3] and shaping.is_plain_create(statement):
        return Plan(tuple(shaping.create_table(setting, statement)), shapes=True)
    replaces = verb == "replace"
    if replaces:
        first = significant(statement, "mysql")[0]
        statement = statement[: first.start] + "INSERT" + statement[first.end :]
    if verb == "rename":
        return _rename(words, statement, setting)
    tree = syntax.tree(statement, setting.database)
    return _of_tree(tree, statement, setting, replaces)


def _refusal(statement: str, verb: str) -> Plan:
    if verb == "load":
        return Plan(fault=_NO_FILES, refused=True)
    if verb in ("attach", "detach", "pragma", "vacuum", "copy"):
        return Plan(fault=str(faults.syntax(statement)), refused=True)
    return Plan(fault="Access denied; you need more privileges for this operation", refused=True)


def _of_tree(tree: object, statement: str, setting: Setting, replaces: bool) -> Plan:
    from sqlglot import exp

    _check_tables(tree, setting)
    rewriter = Rewriter(setting)
    if isinstance(tree, exp.Describe):
        return _explain(tree, rewriter)
    if isinstance(tree, exp.Query):
        return _query(tree, rewriter)
    if isinstance(tree, exp.Insert):
        return Plan((writes.insert(rewriter, tree, replace=replaces),))
    if isinstance(tree, exp.Update):
        return Plan((writes.update(rewriter, tree),))
    if isinstance(tree, exp.Delete):
        return Plan((writes.delete(rewriter, tree),))
    if isinstance(tree, exp.TruncateTable):
        return Plan(_truncated(tree, setting))
    if isinstance(tree, exp.Create):
        return Plan(tuple(shaping.make(rewriter, tree)), shapes=True)
    if isinstance(tree, exp.Drop):
        return Plan(tuple(shaping.drop(setting, tree)), shapes=True)
    if isinstance(tree, exp.Alter):
        return Plan(tuple(shaping.alter(setting, tree)), shapes=True)
    raise faults.syntax(statement)


def _check_tables(tree: object, setting: Setting) -> None:
    """MySQL opens every table of a statement before it looks at anything else."""
    from sqlglot import exp

    if not isinstance(tree, exp.Query):
        return
    made = {cte.alias.lower() for cte in tree.find_all(exp.CTE)} | {"dual"}
    for table in tree.find_all(exp.Table):
        if not table.db and table.name.lower() not in made | setting.catalog.keys():
            raise faults.no_table(setting.database, table.name)


def _query(tree: object, rewriter: Rewriter) -> Plan:
    query = rewriter.query(tree)
    decoders = []
    for place, (_, kind) in enumerate(query.columns):
        decode = kinds.decoder(kind)
        if decode is not None:
            decoders.append((place, decode))
    names = tuple(name for name, _ in query.columns)
    return Plan((shaping.sql(query.tree),), names, tuple(decoders))


def _explain(tree: object, rewriter: Rewriter) -> Plan:
    inner = tree.this  # type: ignore[attr-defined]
    return Plan((f"EXPLAIN QUERY PLAN {shaping.sql(rewriter.query(inner).tree)}",))


def _truncated(tree: object, setting: Setting) -> tuple[str, ...]:
    statements = []
    for table in tree.expressions:  # type: ignore[attr-defined]
        known = setting.catalog.get(table.name.lower())
        if known is None:
            raise faults.no_table(setting.database, table.name)
        statements.append(f'DELETE FROM "{known.name}"')
    return tuple(statements)


def _rename(words: list[str], statement: str, setting: Setting) -> Plan:
    tokens = significant(statement, "mysql")
    if len(tokens) != 5 or words[1] != "TABLE" or words[3] != "TO":
        raise faults.syntax(statement)
    tree = syntax.tree(f"ALTER TABLE {tokens[2].text} RENAME TO {tokens[4].text}", setting.database)
    return Plan(tuple(shaping.alter(setting, tree)), shapes=True)
