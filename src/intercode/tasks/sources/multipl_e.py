"""MultiPL-E: the functions of HumanEval and MBPP, to be written in other languages.

Rows have ``name``, ``language``, ``prompt``, ``tests`` and ``stop_tokens``, as JSON lines or a JSON
list. The tests are put after the solution, and the whole has to end with 0. Upstream has no golds;
a row may bring one as ``canonical_solution``, which continues the prompt.
"""

from __future__ import annotations

from pathlib import Path

from intercode.errors import DatasetError, UsageError
from intercode.tasks.languages import language_spec
from intercode.tasks.model import Dataset, Task
from intercode.tasks.sources.code_tests import CodeSpec, assembled
from intercode.tasks.sources.rows import Row, read_rows

FOLDER = "multipl-e"


def load(place: Path) -> Dataset:
    """``place`` is a file of rows, a folder of such files, or one that has them in ``multipl-e``.

    :raises DatasetError: there are no rows, or one is not of this shape.
    """
    tasks = [_task(row) for file in _tables(place) for row in read_rows(file)]
    return Dataset(
        name=f"multipl-e:{place}" if place.is_file() else "multipl-e",
        tasks=tuple(tasks),
        description="MultiPL-E: functions to be written in many languages.",
        source="https://github.com/nuprl/MultiPL-E",
        licence="MIT",
    )


def _tables(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    folder = place / FOLDER if (place / FOLDER).is_dir() else place
    names = ("*.jsonl", "*.json", "*.jsonl.gz")
    if found := sorted(file for name in names for file in folder.glob(name)):
        return found
    raise DatasetError(
        f"there are no rows of MultiPL-E in {folder}",
        remedy="put files named such as humaneval-js.jsonl there, or name one: multipl-e:FILE",
    )


def _task(row: Row) -> Task:
    name, prompt, said = row.text("name"), row.text("prompt"), row.text("language")
    try:
        language = language_spec(said)
    except UsageError as error:
        raise row.error(f"its language: {error}") from error
    spec = CodeSpec(
        language.name,
        prompt=prompt,
        tests=row.text("tests"),
        stop_tokens=_stop_tokens(row),
    )
    gold = "".join(row.texts("canonical_solution"))
    return Task(
        id=f"{language.name}/{name}",
        env="code",
        instruction=f"Complete this {language.title} code, without a main program.\n\n{prompt}",
        gold=assembled(spec, gold) if gold else "",
        reward=spec.to_mapping(),
        metadata={
            "source": row.file.name,
            "language": language.name,
            **({} if gold else {"flags": ["no_gold"]}),
        },
    )


def _stop_tokens(row: Row) -> tuple[str, ...]:
    """Texts, of which some are nothing but white space."""
    found = row.values.get("stop_tokens", [])
    if not isinstance(found, list) or not all(isinstance(token, str) for token in found):
        raise row.error("stop_tokens is not a list of texts", remedy='write ["\\n}"]')
    return tuple(token for token in found if token)
