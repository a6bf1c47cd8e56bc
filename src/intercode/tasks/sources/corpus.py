"""The corpus that InterCode's NL2Bash was drawn from: 12,607 sentences with a command each.

It is raw material: the commands were written for the authors' machines, so there is no file system
to run them on. Sentences are in one file, commands in another, line by line.
"""

from __future__ import annotations

from pathlib import Path

from intercode.errors import DatasetError
from intercode.tasks.labels import labelled
from intercode.tasks.model import Dataset, Task
from intercode.tasks.sources.rows import Row, read_text


def load(folder: Path) -> Dataset:
    sentences_file, commands_file = folder / "all.nl", folder / "all.cm"
    sentences, commands = _lines(sentences_file), _lines(commands_file)
    if len(sentences) != len(commands):
        raise DatasetError(
            f"{sentences_file} has {len(sentences)} lines, {commands_file} {len(commands)}",
            remedy="intercode data fetch nl2bash-corpus",
        )
    tasks = []
    for index, (sentence, command) in enumerate(zip(sentences, commands, strict=True)):
        row = Row(folder, f"line {index + 1}", {"query": sentence, "gold": command})
        tasks.append(
            Task(
                id=str(index),
                env="bash",
                instruction=row.text("query"),
                gold=row.gold(),
                metadata={"source": "all.cm", "index": index},
            )
        )
    return Dataset(
        name="nl2bash-corpus",
        tasks=labelled(tasks, "nl2bash-corpus"),
        description="The NL2Bash corpus: sentences and commands, without file systems.",
        source="https://github.com/TellinaTool/nl2bash",
        licence="MIT",
    )


def _lines(path: Path) -> list[str]:
    """Lines as ``wc -l`` counts them: other separators may stand within a command."""
    lines = read_text(path).split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]
