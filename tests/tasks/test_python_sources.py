"""Python tasks of others are read as they are published, and their golds pass their tests."""

from __future__ import annotations

import gzip
import json
import shutil
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from python_judge import judge

from intercode.errors import DatasetError, TaskError
from intercode.tasks.model import Dataset
from intercode.tasks.registry import load
from intercode.tasks.sources import apps, ds1000, evalplus, humaneval, mbpp
from intercode.tasks.sources.json_values import expression, merged, seen, shaped
from intercode.tasks.sources.python_tests import (
    INPUT_NAMES,
    CallCase,
    StdinCase,
    TestSpec,
)
from intercode.tasks.sources.rows import read_rows

GOLDS_THAT_FAIL = {"Mbpp/599"}  # out of time
LOADERS: dict[str, Callable[[Path], Dataset]] = {
    "mbpp": lambda folder: mbpp.load(folder / "mbpp"),
    "mbpp:intercode": lambda folder: mbpp.load(folder / "mbpp", ["intercode"]),
    "mbpp-sanitized": lambda folder: mbpp.load_sanitized(folder / "mbpp"),
    "humaneval": lambda folder: humaneval.load(folder / "humaneval"),
    "mbpp-plus": lambda folder: evalplus.load_mbpp(folder / "mbppplus"),
    "humaneval-plus": lambda folder: evalplus.load_humaneval(folder / "humanevalplus"),
}


def write(path: Path, rows: list[dict[str, Any]], *, lines: bool = True) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(map(json.dumps, rows)) if lines else json.dumps(rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def failing(dataset: Dataset, names: set[str] | None = None) -> list[str]:
    tasks = [task for task in dataset if names is None or task.id in names]
    verdicts = judge((task.reward, task.gold) for task in tasks)
    return [task.id for task, found in zip(tasks, verdicts, strict=True) if False in found]


# Test specifications


_TEXT = st.text(max_size=5)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=5,
)
_SPECS = st.one_of(
    st.builds(TestSpec, st.just("asserts"), tests=st.lists(_TEXT, min_size=1).map(tuple)),
    st.builds(
        TestSpec,
        st.just("stdin"),
        cases=st.lists(st.builds(StdinCase, _TEXT, _TEXT), min_size=1).map(tuple),
    ),
    st.builds(
        TestSpec,
        st.just("call"),
        entry_point=st.just("f"),
        given=_TEXT,
        cases=st.lists(
            st.builds(CallCase, st.lists(_JSON, max_size=2).map(tuple), _JSON), min_size=1
        ).map(tuple),
        class_name=st.none() | st.just("Solution"),
        unwraps=st.booleans(),
    ),
    st.builds(
        TestSpec,
        st.just("inputs"),
        entry_point=st.just("f"),
        plus=st.just(("[1]",)),
        reference=st.just("f = abs"),
        atol=st.floats(0, 1),
    ),
)


@given(_SPECS)
def test_a_specification_survives_being_written_as_json(spec: TestSpec) -> None:
    assert TestSpec.from_mapping(json.loads(json.dumps(spec.to_mapping()))) == spec


def test_the_four_keys_that_always_mean_something_are_always_there() -> None:
    assert TestSpec("asserts", tests=("assert f()",)).to_mapping() == {
        "style": "asserts", "entry_point": None, "setup": "", "tests": ["assert f()"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("reward", "trouble"),
    [
        ({}, "style None"),
        ({"style": "exam"}, "style 'exam', not one of asserts, check"),
        ({"style": "asserts"}, "no tests"),
        ({"style": "asserts", "tests": "assert f()"}, "not a list of texts"),
        ({"style": "asserts", "tests": ["x"], "setup": 1}, "setup that is not text"),
        ({"style": "check", "tests": ["x"]}, "no entry_point"),
        ({"style": "inputs", "entry_point": "f", "base": ["[1]"]}, "no reference"),
        ({"style": "stdin", "cases": [{"args": [], "result": 1}]}, "does not fit .* 'stdin'"),
        ({"style": "call", "entry_point": "f", "cases": {"args": []}}, "not a list"),
        ({"style": "asserts", "tests": ["x"], "atol": float("nan")}, "atol"),
    ],
)
def test_a_damaged_specification_is_refused_and_the_task_named(
    reward: dict[str, Any], trouble: str
) -> None:
    with pytest.raises(TaskError, match=f"task 'odd'.*{trouble}"):
        TestSpec.from_mapping(reward, task="odd")


# Values


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(1j)


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner)


@given(st.recursive(_SCALARS, _containers, max_leaves=10))
def test_an_expression_gives_the_value_it_was_made_of(value: Any) -> None:
    text = expression(value)

    assert text.isascii()
    assert repr(eval(text, dict(INPUT_NAMES))) == repr(value)


@given(st.sets(st.integers() | st.text()))
def test_a_set_is_written_in_one_way(value: set[Any]) -> None:
    text = expression(value)

    assert eval(text, dict(INPUT_NAMES)) == value
    assert text == expression({*reversed(list(value))})


@pytest.mark.parametrize(
    ("published", "written", "other", "meant"),
    [
        ([1, 2], (1, 2), [3], (3,)),
        ([[1, 2]], [(1, 2)], [[3], [4]], [(3,), (4,)]),
        ([[1, 2], []], [{1, 2}, {}], [[3], []], [{3}, {}]),
        ({"a": [1]}, {"a": (1,)}, {"b": [2]}, {"b": (2,)}),
        ([1, [2]], (1, (2,)), [1, [2, [3, [4]]]], (1, (2, (3, (4,))))),
        ([[1], [2]], ((1,), (2,)), [[[1]], [2]], (([1],), (2,))),
        ([1], [1], ["j", "1j"], ["j", "1j"]),
        (1, 1, "(1+2j)", 1 + 2j),
        ("0", 0, "-3", -3.0),
        (1, 1, "one", "one"),
        ("5", "5", "7", "7"),
    ],
)
def test_types_are_learnt_where_they_are_written(
    published: Any, written: Any, other: Any, meant: Any
) -> None:
    assert repr(shaped(other, seen(published, written))) == repr(meant)


def test_text_that_means_text_is_never_a_number() -> None:
    assert shaped("5", merged([seen(1, 1), seen("w", "w")])) == "5"


# Upstream's forms


def test_mbpp_keeps_texts_as_they_are_and_finds_the_function_that_is_tested(
    tmp_path: Path,
) -> None:
    gold = "def helper(x):\r\n\treturn x\r\ndef double(x):\r\n\treturn 2 * helper(x)"
    row = {
        "text": "Double it.", "code": gold, "task_id": 7, "test_setup_code": "a = 1",
        "test_list": ["assert double(a) == 2", "assert double(3) == 6 "],
        "challenge_test_list": ["assert double('ab') == 'abab'"],
    }  # fmt: skip
    write(tmp_path / "mbpp.jsonl", [row])
    theirs = {"query": row["text"], "gold": gold, "tests": row["test_list"], "task_id": 7}
    write(tmp_path / "ic_mbpp.json", [theirs], lines=False)

    (task,), (posed,) = mbpp.load(tmp_path), mbpp.load(tmp_path, ["intercode"])

    assert (task.id, task.gold) == ("Mbpp/7", gold)
    assert task.reward == {
        "style": "asserts", "entry_point": "double", "setup": "a = 1", "tests": row["test_list"],
    }  # fmt: skip
    assert task.metadata["challenge_tests"] == ("assert double('ab') == 'abab'",)
    assert task.metadata["notes"] == posed.metadata["notes"] == ("v1_wrong_function",)
    assert judge([(task.reward, gold)]) == [[True, True]]


def test_the_readings_of_mbpp_are_not_joined(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="the same tasks"):
        mbpp.load(tmp_path, ["upstream", "intercode"])


@pytest.mark.parametrize(
    ("change", "trouble"),
    [
        ({"code": "def f(:"}, "line 1: gold or tests are not Python"),
        ({"test_list": ["assert f("]}, "line 1: gold or tests are not Python"),
        ({"test_list": []}, "line 1: there are no tests"),
        ({"task_id": "x"}, "line 1: task_id is not a number"),
    ],
)
def test_a_damaged_row_of_mbpp_is_named(
    change: dict[str, Any], trouble: str, tmp_path: Path
) -> None:
    row = {"text": "t", "code": "def f(): pass", "task_id": 1, "test_list": ["assert f"]}
    write(tmp_path / "mbpp.jsonl", [row | change])

    with pytest.raises(DatasetError, match=trouble):
        mbpp.load(tmp_path)


HUMANEVAL_ROW = {
    "task_id": "HumanEval/0",
    "prompt": "import math\n\n\ndef up(x):\n    return x + 1\n\n\ndef down(x):\n    '''Undo.'''\n",
    "entry_point": "down",
    "canonical_solution": "    return x - 1\n",
    "test": "def check(candidate):\n    assert candidate(up(1)) == 1\n",
}


@pytest.mark.parametrize("name", ["HumanEval.jsonl", "HumanEval.jsonl.gz"])
def test_humaneval_gives_what_stands_before_the_function(name: str, tmp_path: Path) -> None:
    write(tmp_path / name, [HUMANEVAL_ROW])
    (task,) = humaneval.load(tmp_path)

    assert task.instruction == HUMANEVAL_ROW["prompt"]
    assert task.reward["given"] == "import math\n\n\ndef up(x):\n    return x + 1"
    assert judge([(task.reward, task.gold), (task.reward, "def down(x): return x")]) == [
        [True],
        [False],
    ]


def test_humaneval_plus_in_its_early_form_leans_on_humaneval(tmp_path: Path) -> None:
    write(tmp_path / "humaneval" / "HumanEval.jsonl", [HUMANEVAL_ROW])
    early = {
        "contract": "\n    assert x > 0\n", "reference": "\n    return x - 1\n", "atol": 0,
        "base_input": [[2]],
    }  # fmt: skip
    folder = tmp_path / "humanevalplus"
    write(folder / "HumanEvalPlus.jsonl", [early])
    write(folder / "HumanEvalPlusInputs.jsonl", [{"task_id": "HumanEval_0", "inputs": [[-1], [1]]}])
    (task,) = evalplus.load_humaneval(folder)

    assert task.id == "HumanEval/0"
    assert (task.reward["base"], task.reward["plus"]) == (["[2]"], ["[-1]", "[1]"])
    # The contract forbids -1, which is therefore no test.
    assert judge([(task.reward, task.gold), (task.reward, "def down(x): return 1")]) == [
        [True, None, True],
        [True, None, False],
    ]


def test_released_rows_of_evalplus_need_nothing_else(tmp_path: Path) -> None:
    row = {
        "task_id": "Mbpp/1", "prompt": '"""Swap."""', "entry_point": "swap", "atol": 0,
        "canonical_solution": "def swap(pair):\n    return pair[::-1]\n",
        "base_input": [[[1.5, 2.0]]], "plus_input": [[[0.1, float("inf")]]],
        "assertion": "assert swap((1.5, 2.0)) == (2.0, 1.5)",
    }  # fmt: skip
    write(tmp_path / "MbppPlus.jsonl.gz", [row])
    (task,) = evalplus.load_mbpp(tmp_path)

    assert (task.reward["base"], task.reward["plus"]) == (["[(1.5, 2.0)]"], ["[(0.1, inf)]"])
    close = "def swap(pair):\n    assert type(pair) is tuple\n    return (pair[1] + 1e-9, pair[0])"
    assert judge([(task.reward, close), (task.reward, "swap = list")]) == [
        [True, True],
        [False, False],
    ]


def test_a_table_may_be_compressed_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv.gz"
    path.write_bytes(gzip.compress(b"query\tgold\nq\tg\n"))
    assert read_rows(path)[0].text("gold") == "g"

    path.write_bytes(gzip.compress(b"query\tgold\n" * 99)[:-9])
    with pytest.raises(DatasetError, match=r"rows\.tsv\.gz is damaged"):
        read_rows(path)
    path.write_bytes(b"query\tgold\nq\tg\n")
    with pytest.raises(DatasetError, match=r"rows\.tsv\.gz is damaged"):
        read_rows(path)


def problem(folder: Path, **files: Any) -> None:
    folder.mkdir(parents=True)
    (folder / "question.txt").write_text("Add them.\n")
    for name, body in files.items():
        text = body if isinstance(body, str) else json.dumps(body)
        (folder / name.replace("__", ".")).write_text(text)


def test_apps_has_programs_functions_and_methods(tmp_path: Path) -> None:
    problem(
        tmp_path / "test" / "0001",
        input_output__json={"inputs": ["1 2\n", ["3", "4"]], "outputs": ["3\n", ["7 "]]},
        solutions__json=[
            "import sys\nprint(sum(map(int, sys.stdin.read().split())))",
            "print(3)",
        ],
        metadata__json={"difficulty": "interview", "url": "https://example.org"},
    )
    problem(
        tmp_path / "test" / "0002",
        input_output__json={"fn_name": "add", "inputs": [[[1, 2]], [[3]]], "outputs": [[3], 3]},
        solutions__json=["class Solution:\n def add(self, xs: List[int]): return sum(xs)"],
        starter_code__py="class Solution:\n    def add(self, xs: List[int]):\n        ",
    )
    program, method = apps.load(tmp_path)

    assert (program.id, program.metadata["hardness"]) == ("test/0001", "interview")
    assert program.instruction == "Add them.\n"
    assert method.instruction.startswith("Add them.\n\nStart from:\nclass Solution:")
    assert judge((t.reward, t.gold) for t in (program, method)) == [[True, True]] * 2
    assert judge([(program.reward, program.alternatives[0])]) == [[True, False]]
    json.dumps(method.to_json())


def test_apps_reads_tests_only_when_they_are_wanted(tmp_path: Path) -> None:
    problem(tmp_path / "test" / "1", input_output__json="no JSON", solutions__json=["pass"])
    (task,) = apps.load(tmp_path)

    assert task.flags == ()
    with pytest.raises(DatasetError, match=r"1/input_output\.json: not readable JSON"):
        _ = task.reward["style"]


def test_a_problem_of_apps_without_solution_or_tests_is_flagged(tmp_path: Path) -> None:
    problem(tmp_path / "train" / "1", input_output__json="{}")
    (task,) = apps.load(tmp_path, ["train"])

    assert task.flags == ("no_gold", "no_tests")


def test_apps_says_how_it_is_unpacked(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"fetch apps and, in the data folder, tar -xzf"):
        load("apps", path=tmp_path)
    problem(tmp_path / "APPS" / "test" / "1", solutions__json=["pass"])
    assert load("apps", path=tmp_path)[0].id == "test/1"


def test_ds1000_names_the_libraries_that_its_tasks_need(tmp_path: Path) -> None:
    row = {
        "prompt": "How?", "reference_code": "import yaml, os\nresult = 2",
        "metadata": {"problem_id": 5, "library": "Sklearn"},
        "code_context": "import io\ncontext = '''\nfrom sklearn.svm import SVC\n'''\n"
        "def test_execution(solution):\n    assert '2' in solution\n",
    }  # fmt: skip
    write(tmp_path / "ds1000.jsonl", [row])
    (task,) = ds1000.load(tmp_path)

    assert task.metadata["libraries"] == ("pyyaml", "scikit-learn")
    assert task.flags == ("needs_libraries",)
    assert judge([(task.reward, task.gold), (task.reward, "result = 3")]) == [[True], [False]]


# Upstream's files


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "count", "tests"),
    [
        ("mbpp", 974, 2922),
        ("mbpp:intercode", 974, 2938),
        ("mbpp-sanitized", 427, 1324),
        ("humaneval", 164, 164),
        ("mbpp-plus", 399, 43_000),
        ("humaneval-plus", 164, 17_000),
        ("ds1000", 1000, 1000),
    ],
)
def test_every_task_is_there_and_can_be_tested(
    name: str, count: int, tests: int, data: Path
) -> None:
    dataset = load(name, path=data)
    found = sum(TestSpec.from_mapping(t.reward, task=t.id).count for t in dataset)

    assert len(dataset) == count
    assert found == tests if tests < 10_000 else found > tests
    json.dumps([task.to_json() for task in dataset])


@pytest.mark.data
def test_what_is_known_of_upstreams_tasks_is_said(data: Path) -> None:
    flags = {
        name: {t.id: t.flags for t in loader(data / "python") if t.flags}
        for name, loader in LOADERS.items()
    }
    notes = Counter(note for t in load("mbpp", path=data) for note in t.metadata["notes"])

    assert flags.pop("mbpp-plus") == {
        "Mbpp/164": ("failing_gold",),
        "Mbpp/295": ("failing_gold",),
        "Mbpp/599": ("timeout",),
    }
    assert not any(flags.values())
    assert notes == {
        "v1_wrong_function": 46, "v1_failing_gold": 13, "duplicate_instruction": 8,
        "duplicate_gold": 4,
    }  # fmt: skip


@pytest.mark.data
def test_golds_that_need_care_pass(data: Path) -> None:
    folder = data / "python"
    mbpp_golds = {"Mbpp/367", "Mbpp/927", "Mbpp/18", "Mbpp/157"}

    assert failing(LOADERS["mbpp"](folder), mbpp_golds) == []
    assert failing(LOADERS["mbpp:intercode"](folder), {"Mbpp/11", "Mbpp/20"}) == []
    assert failing(LOADERS["humaneval"](folder), {"HumanEval/32", "HumanEval/38"}) == []
    plus = {"Mbpp/2", "Mbpp/115", "Mbpp/124", "Mbpp/252", "Mbpp/404", "Mbpp/580", "Mbpp/737"}
    assert failing(LOADERS["mbpp-plus"](folder), plus) == []
    more = {"HumanEval/2", "HumanEval/32", "HumanEval/38", "HumanEval/39"}
    assert failing(LOADERS["humaneval-plus"](folder), more) == []


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("name", LOADERS)
def test_every_gold_passes(name: str, data: Path) -> None:
    dataset = LOADERS[name](data / "python")
    names = {task.id for task in dataset} - GOLDS_THAT_FAIL

    assert failing(dataset, names) == []


@pytest.mark.data
def test_the_flagged_golds_of_mbpp_plus_contradict_their_assertions(data: Path) -> None:
    rows = read_rows(data / "python" / "mbppplus" / "MbppPlus.jsonl")
    verdicts = judge(
        (
            TestSpec("asserts", tests=(row.text("assertion"),)).to_mapping(),
            row.text("canonical_solution"),
        )
        for row in rows
    )
    failed = {
        row.text("task_id") for row, found in zip(rows, verdicts, strict=True) if False in found
    }
    lacking = {"Mbpp/120", "Mbpp/442", "Mbpp/574"}

    dataset = load("mbpp-plus", path=data)
    assert failed == {t.id for t in dataset if "failing_gold" in t.flags} | lacking
    assert lacking == {t.id for t in dataset if "missing_import" in t.metadata["notes"]}


@pytest.mark.data
def test_examples_that_ds1000_downloads_are_flagged(data: Path) -> None:
    dataset = load("ds1000", path=data)

    assert all("needs_libraries" in task.flags for task in dataset)
    # Of 880 golds run with NumPy, pandas, SciPy, scikit-learn, Matplotlib, seaborn and statsmodels,
    # but no network, these and no others fail.
    assert [task.id for task in dataset if "network" in task.flags] == [
        "519", "539", "565", "566", "567", "577", "598", "624", "629", "650", "654", "655", "656",
        "661", "819",
    ]  # fmt: skip


@pytest.mark.data
def test_both_layouts_of_apps_hold_the_same_problems(data: Path, tmp_path: Path) -> None:
    sample = data / "python" / "apps_sample"
    with tarfile.open(sample / "apps_train_sample5.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    shutil.copy(sample / "ic_apps_sample5.json", tmp_path / "APPS" / "ic_apps.json")
    ours, theirs = load("apps:train", path=tmp_path), load("apps:intercode", path=tmp_path)

    assert [task.id for task in ours] == [
        f"train/{n}" for n in ("0001", "0111", "2287", "2404", "4184")
    ]
    assert [dict(task.reward) for task in ours] == [dict(task.reward) for task in theirs]
    assert failing(ours) == failing(theirs) == []
