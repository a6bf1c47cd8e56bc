"""MultiPL-E's rows as tasks, and how a solution and its tests become one program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from intercode.errors import DatasetError, UsageError
from intercode.tasks.registry import load
from intercode.tasks.sources.code_tests import CodeSpec, assembled

JS = {
    "name": "Own_0_twice",
    "language": "js",
    "prompt": "//Twice as much.\nfunction twice(n){\n",
    "tests": "const assert = require('node:assert');\nassert.deepEqual(twice(2), 4);\n",
    "stop_tokens": ["\nfunction ", "\n/*", "\n\n"],
}
CPP = {
    "name": "Own_0_twice",
    "language": "cpp",
    "prompt": "#include<assert.h>\n// Twice as much, {n} times.\nlong twice(long n) {\n",
    "tests": "}\nint main() {\n  auto candidate = twice;\n  assert(candidate((2)) == (4));\n}\n",
    "stop_tokens": ["\n}"],
    "canonical_solution": "    return 2 * n;",
}


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_file_of_rows_is_a_dataset(tmp_path: Path) -> None:
    dataset = load(f"multipl-e:{written(tmp_path / 'rows.jsonl', JS, CPP)}")
    js, cpp = dataset.tasks

    assert [task.id for task in dataset] == ["javascript/Own_0_twice", "cpp/Own_0_twice"]
    assert js.env == "code"
    assert JS["prompt"] in js.instruction
    assert JS["tests"] not in js.instruction
    assert (js.gold, js.flags) == ("", ("no_gold",))
    assert cpp.gold == CPP["prompt"] + "    return 2 * n;"
    assert cpp.sound
    spec = CodeSpec.from_mapping(js.reward)
    assert (spec.language, spec.tests) == ("javascript", JS["tests"])
    assert spec.stop_tokens == ("\nfunction ", "\n/*", "\n\n")


def test_a_folder_has_a_file_for_each_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "multipl-e" / "humaneval-js.jsonl", JS)
    written(tmp_path / "multipl-e" / "humaneval-cpp.jsonl", CPP)
    monkeypatch.setenv("INTERCODE_DATA", str(tmp_path))

    assert [task.metadata["language"] for task in load("multipl-e")] == ["cpp", "javascript"]
    assert len(load(f"multipl-e:{tmp_path / 'multipl-e'}")) == 2
    assert len(load("multipl-e", path=tmp_path)) == 2


def test_no_rows_is_an_error_that_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERCODE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    with pytest.raises(DatasetError, match=r"not here[\s\S]*fetch multipl-e"):
        load("multipl-e")
    (tmp_path / "multipl-e").mkdir()
    with pytest.raises(DatasetError, match="no rows of MultiPL-E in"):
        load("multipl-e")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"language": "cobol"}, "line 1: its language: there is no language 'cobol'"),
        ({"tests": ""}, "line 1: tests is empty"),
        ({"prompt": 3}, "line 1: prompt is int"),
        ({"stop_tokens": "x"}, "line 1: stop_tokens is not a list"),
    ],
)
def test_a_row_of_another_shape_is_named(tmp_path: Path, change: Any, told: str) -> None:
    path = written(tmp_path / "rows.jsonl", {**JS, **change})

    with pytest.raises((DatasetError, UsageError)) as error:
        load(f"multipl-e:{path}")
    assert told in str(error.value)


def spec(row: dict[str, Any]) -> CodeSpec:
    return CodeSpec(
        row["language"],
        prompt=row["prompt"],
        tests=row["tests"],
        stop_tokens=tuple(row["stop_tokens"]),
    )


@pytest.mark.parametrize(
    ("submission", "program"),
    [
        ("  return 2 * n;\n}\n", JS["prompt"] + "  return 2 * n;\n}\n"),
        ("  return 2 * n;\n}\nfunction more(){", JS["prompt"] + "  return 2 * n;\n}"),
        ("  return n;\n}\n\nx\n/* y", JS["prompt"] + "  return n;\n}"),
    ],
)
def test_what_goes_on_ends_at_its_first_stop_token(submission: str, program: str) -> None:
    assert assembled(spec(JS), submission) == program


def test_a_whole_program_is_taken_whole() -> None:
    whole = "const two = 2;\n\nfunction twice(n){\n\n  return two * n;\n}\n"

    assert assembled(spec(JS), whole) == whole


@pytest.mark.parametrize(
    "submission",
    [
        "    return 2 * n;",
        "    return 2 * n;\n}",
        CPP["prompt"] + "    return 2 * n;",
        CPP["prompt"] + "    return 2 * n;\n}\n",
        "#include<assert.h>\nlong twice(long n) {\n    if (n) { return 2 * n; }\n    return 0;\n}",
    ],
)
def test_tests_that_close_the_function_find_it_open(submission: str) -> None:
    program = assembled(spec(CPP), submission) + "\n" + spec(CPP).tests

    assert program.count("{") == program.count("}")
    assert program.index("}\nint main()") > program.index("return")
