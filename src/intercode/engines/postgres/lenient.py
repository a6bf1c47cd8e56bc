"""PostgreSQL for an agent that speaks MySQL: how text compares and counts, and what may stand
beside a GROUP BY.

MySQL compares text without regard to case and trailing blanks, and takes text for the number that
it begins with. Operators of a schema of our own say so here, found before PostgreSQL's by the
search path of such sessions alone. (Not by GROUP BY, DISTINCT and ORDER BY, which ask the type.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlglot import exp

SCHEMA = "mysql"
PATH = f"public, {SCHEMA}, pg_catalog"
GROUPING_ERROR = "42803"

_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
_NEGATED = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_TURNED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NAMES = {"=": "eq", "<>": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
          "+": "plus", "-": "minus", "*": "times", "/": "by"}  # fmt: skip
_NUMBER = r"^\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,2})?)"


def definitions() -> list[str]:
    """The statements that make the schema. They are run by its owner."""
    made = [
        f"CREATE SCHEMA {SCHEMA}",
        _function("fold(text)", "text", "lower(rtrim($1, ' '))"),
        _function(
            "number(text)", "float8",
            f"coalesce(substring($1 from '{_NUMBER}')::float8, 0)",
        ),
    ]  # fmt: skip
    for sign in _COMPARISONS:
        for left, right in (("text", "text"), ("text", "float8"), ("float8", "text")):
            both_text = left == right
            sides = [
                f"{SCHEMA}.{'fold' if both_text else 'number'}(${place})"
                if kind == "text"
                else f"${place}"
                for place, kind in ((1, left), (2, right))
            ]
            result = f"{sides[0]} OPERATOR(pg_catalog.{sign}) {sides[1]}"
            made += _operator(sign, left, right, "bool", result)
    for sign in "+-*/":
        for left, right in (("text", "text"), ("text", "float8"), ("float8", "text")):
            sides = [
                f"{SCHEMA}.number(${place})" if kind == "text" else f"${place}"
                for place, kind in ((1, left), (2, right))
            ]
            divisor = f"nullif({sides[1]}, 0)" if sign == "/" else sides[1]
            result = f"{sides[0]} OPERATOR(pg_catalog.{sign}) {divisor}"
            made += _operator(sign, left, right, "float8", result)
    made += [
        _function("add(float8[], text)", "float8[]",
                  f"ARRAY[$1[1] + 1, $1[2] + {SCHEMA}.number($2)]"),
        _function("mean(float8[])", "float8", "$1[2] / nullif($1[1], 0)"),
        _function("total(float8[])", "float8", "CASE WHEN $1[1] > 0 THEN $1[2] END"),
    ]  # fmt: skip
    for name, final in (("avg", "mean"), ("sum", "total")):
        made.append(
            f"CREATE AGGREGATE {SCHEMA}.{name}(text) (SFUNC = {SCHEMA}.add, STYPE = float8[], "
            f"FINALFUNC = {SCHEMA}.{final}, INITCOND = '{{0,0}}')"
        )
    return made


def _function(signature: str, result: str, body: str) -> str:
    return (
        f"CREATE FUNCTION {SCHEMA}.{signature} RETURNS {result} LANGUAGE sql IMMUTABLE STRICT "
        f"PARALLEL SAFE RETURN {body}"
    )


def _operator(sign: str, left: str, right: str, result: str, body: str) -> list[str]:
    name = f"{_NAMES[sign]}({left}, {right})"
    more = ""
    if sign in _TURNED:
        more = (
            f", COMMUTATOR = OPERATOR({SCHEMA}.{_TURNED[sign]})"
            f", NEGATOR = OPERATOR({SCHEMA}.{_NEGATED[sign]})"
        )
    made = (
        f"CREATE OPERATOR {SCHEMA}.{sign} (FUNCTION = {SCHEMA}.{_NAMES[sign]}, LEFTARG = {left}, "
        f"RIGHTARG = {right}{more})"
    )
    return [_function(name, result, body), made]


def loosely_grouped(sql: str) -> str:
    """``sql``, in PostgreSQL's words, with the first value of its group for each column that is
    neither grouped nor aggregated; as it is where it cannot be parsed.

    MySQL without ONLY_FULL_GROUP_BY gives any row's value. Of a column that depends on the group's
    key, which is what such statements mean, all rows have the same.
    """
    import sqlglot
    from sqlglot import errors, exp

    try:
        tree = sqlglot.parse_one(sql, read="postgres")
    except (errors.SqlglotError, RecursionError):
        return sql
    for select in list(tree.find_all(exp.Select)):
        group = select.args.get("group")
        if group is not None or any(_own(node, select) for node in select.find_all(exp.AggFunc)):
            _loosen(select, list(group.expressions) if group is not None else [])
    return tree.sql(dialect="postgres")


def _own(node: Any, select: exp.Select) -> bool:
    from sqlglot import exp

    return node.find_ancestor(exp.Select) is select


def _loosen(select: exp.Select, keys: list[exp.Expression]) -> None:
    from sqlglot import exp

    grouped = {(key.table, key.name) for key in keys if isinstance(key, exp.Column)}
    names = {name for _, name in grouped}
    aliases = {each.alias for each in select.expressions if each.alias}
    for part in (*select.expressions, select.args.get("having"), select.args.get("order")):
        for column in list(part.find_all(exp.Column)) if part is not None else ():
            if not _own(column, select) or column.find_ancestor(exp.AggFunc, exp.Select) is not (
                select
            ):
                continue
            known = (column.table, column.name) in grouped or (
                column.name in names and (not column.table or ("", column.name) in grouped)
            )
            ordered = column.find_ancestor(exp.Order) is not None
            if known or (ordered and not column.table and column.name in aliases):
                continue
            first = exp.Bracket(
                this=exp.Paren(this=exp.ArrayAgg(this=column.copy())),
                expressions=[exp.Literal.number(1)],
                offset=1,
            )
            is_item = column.parent is select
            column.replace(exp.alias_(first, column.name, quoted=True) if is_item else first)
