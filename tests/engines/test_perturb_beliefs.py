"""Copies keep what the data lets one believe: trees, names, what follows from what."""

from __future__ import annotations

from collections import defaultdict
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intercode.engines.acyclic import apparent, levels
from intercode.engines.beliefs import dependencies, ordered_dates, shared_names, untied
from intercode.engines.content import Column, Content, ForeignKey, Row, Table
from intercode.engines.literals import Literal
from intercode.engines.perturb import perturbed

SEEDS = range(12)


def table(
    name: str,
    columns: dict[str, str],
    rows: Any,
    key: tuple[str, ...] = ("id",),
    references: tuple[ForeignKey, ...] = (),
) -> Table:
    kinds = tuple(Column(name, kind, name not in key) for name, kind in columns.items())
    return Table(name, kinds, tuple(map(tuple, rows)), key, references)


def copies(*tables: Table, keep: Any = (), seeds: Any = SEEDS) -> list[Content]:
    content = Content("made", "sqlite", tables)
    return [perturbed(content, seed, keep) for seed in seeds]


def column(content: Content, name: str, of: str) -> list[Any]:
    found = next(one for one in content.tables if one.name == name)
    index = [one.name for one in found.columns].index(of)
    return [row[index] for row in found.rows]


def arcs(rows: Any, start: int, end: int) -> list[tuple[Row, Row]]:
    """Those between nodes: neither end is NULL."""
    pairs = [((row[start],), (row[end],)) for row in rows]
    return [pair for pair in pairs if (None,) not in pair]


# Trees stay trees

PARENTS = st.lists(st.integers(0, 30), min_size=1, max_size=30)


def staff(parents: list[int], root: Any, text: bool, declared: bool) -> Table:
    """Number n has one with a smaller number for a boss, or none."""

    def named(number: int) -> Any:
        return f"k{number}" if text else number

    rows = [
        (named(number), f"Name {number}", named(parent % number) if parent % number else root)
        for number, parent in enumerate(parents, 1)
    ]
    references = (ForeignKey(("boss",), "staff", ("id",)),) if declared else ()
    columns = {"id": "TEXT" if text else "INTEGER", "name": "TEXT", "boss": "TEXT"}
    return table("staff", columns, rows, references=references)


@settings(max_examples=60, deadline=None)
@given(PARENTS, st.booleans(), st.sampled_from(["null", "zero", "apparent"]), st.integers(0, 9))
def test_a_tree_has_no_cycle_in_any_copy(
    parents: list[int], text: bool, kind: str, seed: int
) -> None:
    nothing = ("0" if text else 0) if kind == "zero" else None
    pristine = staff(parents, nothing, text, declared=kind != "apparent")
    (copy,) = copies(pristine, seeds=[seed])
    rows = copy.tables[0].rows
    deep, now = levels(arcs(pristine.rows, 0, 2)), levels(arcs(rows, 0, 2))
    assert deep is not None
    assert now is not None
    assert max(now.values(), default=0) <= max(deep.values(), default=0)
    if kind == "null":
        assert {row[2] for row in rows} <= {row[0] for row in rows} | {None}


def test_a_tree_stays_about_as_deep() -> None:
    # Seven of each level have one of the level above for a boss.
    pristine = staff([0] * 7 + list(range(1, 29)), None, False, True)
    rows = [(n, f"N{n}", None if n <= 7 else n - 7) for n in range(1, 36)]
    made = copies(table("staff", {"id": "INT", "name": "TEXT", "boss": "INT"}, rows,
                        references=pristine.foreign_keys))  # fmt: skip
    deep = [max((levels(arcs(c.tables[0].rows, 0, 2)) or {}).values()) for c in made]
    assert set(deep) <= {3, 4}
    roots = [column(c, "staff", "boss").count(None) for c in made]
    assert all(2 <= count <= 30 for count in roots)


def test_no_row_gets_the_key_that_stands_for_none() -> None:
    pristine = staff([0, 0, 1, 2, 1, 3], 0, text=False, declared=True)
    for copy in copies(pristine, seeds=range(60)):
        bosses = column(copy, "staff", "boss")
        assert 0 in bosses
        assert 0 not in column(copy, "staff", "id")


def parts(pairs: Any, key: tuple[str, ...] = ("whole", "part")) -> tuple[Table, Table]:
    items = table("item", {"id": "INT", "name": "TEXT"}, [(n, f"Item {n}") for n in range(20)])
    references = (
        ForeignKey(("whole",), "item", ("id",)),
        ForeignKey(("part",), "ITEM", ()),
    )
    kinds = {"whole": "INT", "part": "INT", "grams": "INT"}
    rows = [(*pair, 10 * index) for index, pair in enumerate(pairs)]
    return items, table("part", kinds, rows, key, references)


PAIRS = st.sets(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=40)


@settings(max_examples=60, deadline=None)
@given(PAIRS, st.booleans(), st.integers(0, 9))
def test_a_link_table_has_no_cycle_in_any_copy(pairs: Any, down: bool, seed: int) -> None:
    pairs = sorted((max(p), min(p)) if down else (min(p), max(p)) for p in pairs if p[0] != p[1])
    pairs = list(dict.fromkeys(pairs))
    (copy,) = copies(*parts(pairs), seeds=[seed])
    rows = copy.tables[1].rows
    now, deep = levels(arcs(rows, 0, 1)), levels(arcs([(*p,) for p in pairs], 0, 1))
    assert deep is not None
    assert now is not None
    if pairs:
        assert max(now.values()) <= max(deep.values())
        assert len(rows) >= len(pairs) / 2
    keys = {row[0] for row in copy.tables[0].rows}
    assert all({row[0], row[1]} <= keys for row in rows)
    assert len({row[:2] for row in rows}) == len(rows)


def test_what_has_cycles_may_have_others() -> None:
    friends = [(n, (n + 3) % 20) for n in range(20)] + [(n, (n + 7) % 20) for n in range(20)]
    made = copies(*parts(friends))
    assert all(levels(arcs(copy.tables[1].rows, 0, 1)) is None for copy in made)


def test_both_parents_make_one_graph() -> None:
    rows = [(n, None if n < 6 else n - 5, None if n < 6 else n - 4) for n in range(1, 41)]
    references = tuple(ForeignKey((name,), "person", ("id",)) for name in ("mother", "father"))
    columns = {"id": "INT", "mother": "INT", "father": "INT"}
    for copy in copies(table("person", columns, rows, references=references)):
        made = copy.tables[0].rows
        assert levels(arcs(made, 0, 1) + arcs(made, 0, 2)) is not None
        assert len(arcs(made, 0, 1)) > 10


def test_a_number_that_is_no_key_is_no_reference() -> None:
    key = (0,)
    assert apparent([(1, None), (2, 1), (3, 2)], key, [1]) == [1]
    assert apparent([(1, None), (2, 1), (3, 9)], key, [1]) == []
    # All have one, so that some way leads back; and here 2 leads to 3, and 3 to 2.
    assert apparent([(1, 1), (2, 1), (3, 2)], key, [1]) == []
    assert apparent([(1, None), (2, 3), (3, 2)], key, [1]) == []


def test_levels() -> None:
    a, b, c, d = (("a",), ("b",), ("c",), ("d",))
    assert levels([(a, b), (b, c), (a, c), (d, c)]) == {c: 0, b: 1, a: 2, d: 1}
    assert levels([(a, b), (b, a)]) is None
    assert levels([(a, a)]) is None
    assert levels([]) == {}


# Names


def named(called: str, values: list[Any]) -> Table:
    return table("thing", {"id": "INT", called: "TEXT"}, list(enumerate(values)))


LETTERS = [chr(ord("a") + n) * 3 for n in range(20)]


@pytest.mark.parametrize(
    ("called", "values", "shared"),
    [
        ("town", LETTERS[:8], frozenset()),
        # As many towns differ by chance.
        ("town", LETTERS[:7], None),
        ("town", [*LETTERS, "aaa"], None),
        ("full_name", LETTERS[:3], frozenset()),
        ("Title", LETTERS[:3], frozenset()),
        ("thing", LETTERS[:3], frozenset()),
        ("name", ["a", "b"], None),
        ("name", [*LETTERS, "Jordan", "Jordan"], frozenset({"Jordan"})),
        ("name", ["x", "x", "y", "y", "z", "z", "v"], None),
        # NULL is like no other.
        ("name", [*LETTERS, None, None], frozenset()),
        ("last_name", LETTERS, None),
        ("weight", [str(n / 4) for n in range(20)], None),
        ("born", [f"2001-01-{n:02}" for n in range(1, 20)], None),
        ("price", list(range(20)), None),
    ],
)
def test_which_texts_are_names(called: str, values: list[Any], shared: Any) -> None:
    assert shared_names(named(called, values), 1, repeated=False) == shared


def test_a_query_that_expects_repeats_is_believed() -> None:
    assert shared_names(named("town", LETTERS), 1, repeated=True) is None
    assert shared_names(named("name", LETTERS), 1, repeated=True) == frozenset()


def test_unless_another_table_may_be_meant() -> None:
    other = table("visit", {"id": "INT", "town": "TEXT"}, [(n, LETTERS[n % 4]) for n in range(20)])
    keep = {Literal("town", None)}

    def repeats(*tables: Table) -> bool:
        towns = [column(copy, "thing", "town") for copy in copies(*tables, keep=keep)]
        return any(len(set(found)) < len(found) for found in towns)

    assert repeats(named("town", LETTERS))
    assert not repeats(named("town", LETTERS), other)


@pytest.mark.parametrize("called", ["name", "town"])
def test_names_stay_unique(called: str) -> None:
    keep = {Literal(called, "aaa"), Literal(called, "new")}
    made = copies(named(called, LETTERS), keep=keep)
    for copy in made:
        names = [name.casefold() for name in column(copy, "thing", called)]
        assert len(names) == len(set(names)) > len(LETTERS)
    # And are still looked for, and nearly met.
    found = [name for copy in made for name in column(copy, "thing", called)]
    assert min(found.count("aaa"), found.count("new")) > len(made) / 2
    assert any("aaa" in name and name != "aaa" for name in found)


def test_a_name_that_two_share_may_be_shared() -> None:
    made = copies(named("name", [*LETTERS, "Jordan", "Jordan"]))
    times = [column(copy, "thing", "name").count("Jordan") for copy in made]
    assert max(times) > 1
    others = [n for n in column(made[0], "thing", "name") if n != "Jordan"]
    assert len(others) == len(set(others))


def test_numbers_that_differ_by_chance_may_repeat() -> None:
    weights = table("pet", {"id": "INT", "weight": "REAL"}, [(n, n * 1.5) for n in range(30)])
    made = [column(copy, "pet", "weight") for copy in copies(weights)]
    assert all(len(set(values)) < len(values) for values in made)


# References


def couples(keep: Any = ()) -> list[Content]:
    people = table("person", {"id": "INT", "n": "INT"}, [(n, n % 4) for n in range(1, 13)])
    references = (ForeignKey(("person_id",), "person", ("id",)),)
    players = table(
        "player",
        {"id": "INT", "person_id": "INT", "points": "INT"},
        [(n, 13 - n, n % 5) for n in range(1, 11)],
        references=references,
    )
    return copies(people, players, keep=keep)


def test_one_to_one_stays_so() -> None:
    for copy in couples():
        people = column(copy, "player", "person_id")
        assert len(people) == len(set(people)) >= 8
        assert set(people) <= set(column(copy, "person", "id"))


def test_but_not_where_a_query_counts_them() -> None:
    made = couples({Literal("person_id", None)})
    assert any(len(set(p)) < len(p) for p in (column(c, "player", "person_id") for c in made))


# What follows


def test_what_follows_from_another_column_does_in_copies() -> None:
    regions = [(f"Region {n}", f"Continent {n % 3}") for n in range(9)]
    rows = [(n, *regions[n * n % 9], n % 2) for n in range(80)]
    columns = {"id": "INT", "region": "TEXT", "continent": "TEXT", "n": "INT"}
    keep = {Literal("region", "Region 1"), Literal("continent", "Continent 7")}
    for copy in copies(table("country", columns, rows), keep=keep):
        follows = defaultdict(set)
        for _, region, continent, _ in copy.tables[0].rows:
            follows[region].add(continent)
        assert all(len(found) == 1 for found in follows.values())
        known = {region: {continent} for region, continent in regions}
        assert {r: c for r, c in follows.items() if r in known}.items() <= known.items()
        assert follows.keys() - known.keys(), "new regions"


def test_what_may_be_chance_does_not_follow() -> None:
    rows = [(n, f"v{n % 10}", n % 2) for n in range(12)]
    # Only two of ten values are there twice.
    assert dependencies(rows, [1, 2]) == []
    found = dependencies([(n, f"v{n % 10}", n % 2) for n in range(60)], [1, 2])
    assert [(one.first, one.second) for one in found] == [(1, 2)]


def test_a_few_exceptions_are_left_out() -> None:
    rows = [(f"v{n % 30}", n % 3) for n in range(300)]
    (found,) = dependencies([*rows, ("v4", 2), ("odd", 0), ("odd", 1)], [0, 1])
    assert found.free == {"v4", "odd"}
    assert found.known.keys().isdisjoint(found.free)
    assert dependencies([(f"v{n % 30}", n % 7) for n in range(300)], [0, 1]) == []


@pytest.mark.parametrize("text", [False, True])
def test_what_ends_has_begun(text: bool) -> None:
    def day(number: int) -> Any:
        found = date(2020, 1, 1) + timedelta(days=number)
        return f"{found} 10:00:00" if text else found

    rows = [(n, day(7 * n), day(7 * n + n % 5) if n % 6 else None) for n in range(40)]
    columns = {"id": "INT", "start": "DATE", "end": "DATE"}
    assert ordered_dates(rows, 3) == [(1, 2)]
    for copy in copies(table("loan", columns, rows)):
        assert all(s <= e for _, s, e in copy.tables[0].rows if e is not None)
        assert any(s < e for _, s, e in copy.tables[0].rows if e is not None)


# The largest


def test_the_oldest_is_one_where_it_was_one() -> None:
    rows = [(n, 10 + n if n else 9, min(n, 20)) for n in range(30)]
    columns = {"id": "INT", "age": "INT", "points": "INT"}
    made = copies(table("singer", columns, rows), seeds=range(30))
    for copy in made:
        ages = column(copy, "singer", "age")
        assert ages.count(max(ages)) == ages.count(min(ages)) == 1
    # More than one had 20.
    points = [column(copy, "singer", "points") for copy in made]
    assert any(values.count(max(values)) > 1 for values in points)


def test_ties_are_parted_by_as_little_as_can_be() -> None:
    assert untied([(5,), (5,), (3,), (5,)], [(0, True)]) == [(5,), (4,), (3,), (4,)]
    assert untied([("2020-03-01",)] * 2, [(0, True)]) == [("2020-03-01",), ("2020-02-29",)]
    assert untied([("2020-03-01 08",)] * 2, [(0, False)])[1] == ("2020-03-02 08",)
    # There is nothing below 0, and no shorter text.
    assert untied([(0,), (0,)], [(0, True)]) == [(0,), (0,)]
    assert untied([("10",), ("10",)], [(0, True)]) == [("10",), ("10",)]
    assert untied([(None,)], [(0, True)]) == [(None,)]
