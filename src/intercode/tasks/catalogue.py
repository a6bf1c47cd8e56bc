"""The datasets that InterCode knows by name: where their files may lie, and what loads them."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path

from intercode.tasks.model import Dataset


@dataclass(frozen=True)
class Place:
    """A folder below a data folder, and the task files in it: one for each part of the dataset
    where it has parts; of several without parts, all are needed. Some are folders themselves."""

    folder: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """``loader`` is ``MODULE:FUNCTION`` in `intercode.tasks.sources`: it takes the folder and,
    where the dataset has parts, those wanted. ``usual`` are the parts that the bare name means
    (none: all of them); ``package`` is what fetches the dataset, and ``unpacking`` the command that
    is needed besides, in the data folder.
    """

    name: str
    description: str
    tasks: int | None
    places: tuple[Place, ...]
    package: str
    loader: str
    licence: str = "MIT"
    parts: tuple[str, ...] = ()
    usual: tuple[str, ...] = ()
    unpacking: str = ""
    tables: bool = False
    """Whether the loader takes any file of such rows instead: ``NAME:PATH``."""

    @property
    def remedy(self) -> str:
        fetching = f"intercode data fetch {self.package}"
        if self.unpacking:
            fetching += f" and, in the data folder, {self.unpacking}"
        return f"{fetching}, or set INTERCODE_DATA to a folder that has it"

    def load(self, folder: Path, parts: tuple[str, ...]) -> Dataset:
        module, _, function = self.loader.partition(":")
        loader = getattr(importlib.import_module(f"intercode.tasks.sources.{module}"), function)
        dataset: Dataset = loader(folder, parts) if self.parts else loader(folder)
        return dataset


_BASH = (
    Source(
        "nl2bash",
        "InterCode's NL2Bash: Bash one-liners over four small file systems.",
        tasks=200,
        places=(Place("nl2bash", tuple(f"nl2bash_fs_{n}.json" for n in range(1, 5))),),
        parts=tuple(f"fs_{n}" for n in range(1, 5)),
        package="nl2bash",
        loader="nl2bash:load",
    ),
    Source(
        "nl2bash-test",
        "The 24 Bash tasks that InterCode's own tests use.",
        tasks=24,
        places=(Place("nl2bash", ("test_queries.json",)),),
        package="nl2bash",
        loader="nl2bash:load_test",
    ),
    Source(
        "nl2bash-corpus",
        "The NL2Bash corpus: sentences and commands, without file systems.",
        tasks=12_607,
        places=(Place("nl2bash/raw", ("all.nl", "all.cm")),),
        package="nl2bash-corpus",
        loader="corpus:load",
    ),
    Source(
        "alfa",
        "InterCode-ALFA: reworked Bash tasks with two golds each.",
        tasks=300,
        places=(Place("intercode_alfa", tuple(f"nl2bash_fs_{n}.json" for n in range(1, 6))),),
        parts=tuple(f"fs_{n}" for n in range(1, 6)),
        package="alfa",
        loader="alfa:load",
    ),
)

_SPIDER_SPLITS = ("dev", "train_spider", "train_others", "test")
_SPIDER_FILES = tuple(f"{split}.json" for split in _SPIDER_SPLITS)
_MINI_DIALECTS = ("sqlite", "mysql", "postgresql")
_MINI_FILES = tuple(f"mini_dev_{dialect}.json" for dialect in _MINI_DIALECTS)

_SQL = (
    Source(
        "spider",
        "InterCode's Spider: questions over 20 MySQL databases.",
        tasks=1034,
        places=(
            Place("spider", ("ic_spider_dev.json",)),
            Place("sql/spider", ("ic_spider_dev.json",)),
        ),
        package="spider",
        loader="spider:load",
        licence="CC BY-SA 4.0",
    ),
    Source(
        "spider-upstream",
        "Spider as it is published, over SQLite databases; the name alone means its dev split.",
        tasks=1034,
        places=(
            Place("spider/upstream", _SPIDER_FILES),
            Place("spider", _SPIDER_FILES),
            Place("spider_data", _SPIDER_FILES),
        ),
        parts=_SPIDER_SPLITS,
        usual=("dev",),
        package="spider-upstream",
        loader="spider:load_upstream",
        licence="CC BY-SA 4.0",
    ),
    Source(
        "bird",
        "InterCode's BIRD: questions with hints over three databases.",
        tasks=338,
        places=(Place("bird", ("ic_bird.json",)), Place("sql/bird", ("ic_bird.json",))),
        package="bird",
        loader="bird:load",
        licence="CC BY-SA 4.0",
    ),
    Source(
        "bird-dev",
        "BIRD's development set: questions with hints over 11 databases.",
        tasks=1534,
        places=(
            Place("bird", ("dev.json",)),
            Place("bird/dev_20240627", ("dev.json",)),
            Place("bird/dev", ("dev.json",)),
            Place("bird", ("dev_jar.json",)),
        ),
        package="bird-dev",
        loader="bird:load_dev",
        licence="CC BY-SA 4.0",
    ),
    Source(
        "bird-mini",
        "BIRD's mini-dev, with golds in three dialects; the name alone means SQLite.",
        tasks=500,
        places=(
            Place("bird/mini_dev", _MINI_FILES),
            Place("bird/minidev/MINIDEV", _MINI_FILES),
            Place("bird/MINIDEV", _MINI_FILES),
        ),
        parts=_MINI_DIALECTS,
        usual=("sqlite",),
        package="bird-mini",
        loader="bird:load_mini",
        licence="CC BY-SA 4.0",
    ),
    Source(
        "wikisql",
        "InterCode's WikiSQL: questions over the tables of one MySQL database.",
        tasks=196,
        places=(
            Place("wikisql", ("ic_wikisql_dev.json",)),
            Place("sql/wikisql", ("ic_wikisql_dev.json",)),
        ),
        package="wikisql",
        loader="wikisql:load",
        licence="BSD-3-Clause",
    ),
    Source(
        "spider2-lite",
        "Spider 2-lite: analysts' questions for SQLite, BigQuery and Snowflake.",
        tasks=547,
        places=(
            Place("spider2_lite", ("spider2-lite.jsonl",)),
            Place("spider2-lite", ("spider2-lite.jsonl",)),
            Place("Spider2/spider2-lite", ("spider2-lite.jsonl",)),
        ),
        package="spider2-lite",
        loader="spider2:load",
    ),
)


def _places(name: str, *files: str) -> tuple[Place, ...]:
    return (Place(f"python/{name}", files), Place(name, files))


_PYTHON = (
    Source(
        "mbpp",
        "MBPP: short functions with three assertions each; mbpp:intercode as InterCode poses it.",
        tasks=974,
        places=_places("mbpp", "mbpp.jsonl", "ic_mbpp.json"),
        parts=("upstream", "intercode"),
        usual=("upstream",),
        package="mbpp",
        loader="mbpp:load",
        licence="CC BY 4.0",
    ),
    Source(
        "mbpp-sanitized",
        "MBPP, the part that was looked over by hand.",
        tasks=427,
        places=_places("mbpp", "sanitized-mbpp.json"),
        package="mbpp",
        loader="mbpp:load_sanitized",
        licence="CC BY 4.0",
    ),
    Source(
        "humaneval",
        "HumanEval: functions to be written from signature and docstring.",
        tasks=164,
        places=(
            *_places("humaneval", "HumanEval.jsonl.gz"),
            *_places("humaneval", "HumanEval.jsonl"),
        ),
        package="humaneval",
        loader="humaneval:load",
    ),
    Source(
        "mbpp-plus",
        "MBPP+: MBPP's functions on many more inputs.",
        tasks=None,
        places=(*_places("mbppplus", "MbppPlus.jsonl.gz"), *_places("mbppplus", "MbppPlus.jsonl")),
        package="mbpp-plus",
        loader="evalplus:load_mbpp",
        licence="Apache-2.0",
    ),
    Source(
        "humaneval-plus",
        "HumanEval+: HumanEval's functions on many more inputs.",
        tasks=164,
        places=(
            *_places("humanevalplus", "HumanEvalPlus.jsonl.gz"),
            *_places("humanevalplus", "HumanEvalPlus.jsonl"),
        ),
        package="humaneval-plus",
        loader="evalplus:load_humaneval",
        licence="Apache-2.0",
    ),
    Source(
        "apps",
        "APPS: contest problems, answered by programs or functions; the name alone means its test.",
        tasks=5000,
        places=tuple(
            Place(folder, ("train", "test", "ic_apps.json"))
            for folder in ("python/APPS", "python/apps", "apps/APPS", "APPS", "apps")
        ),
        parts=("train", "test", "intercode"),
        usual=("test",),
        package="apps",
        loader="apps:load",
        unpacking="tar -xzf python/APPS.tar.gz -C python",
    ),
    Source(
        "ds1000",
        "DS-1000: questions about seven data science libraries, which have to be installed.",
        tasks=1000,
        places=(*_places("ds1000", "ds1000.jsonl.gz"), *_places("ds1000", "ds1000.jsonl")),
        package="ds1000",
        loader="ds1000:load",
        licence="CC BY-SA 4.0",
    ),
)

_CTF = (
    Source(
        "ctf",
        "InterCode-CTF: picoCTF challenges with their files.",
        tasks=100,
        places=(Place("ctf/intercode", ("ic_ctf.json",)), Place("ctf", ("ic_ctf.json",))),
        package="ctf",
        loader="ctf:load",
        licence="MIT",
    ),
    Source(
        "nyu-ctf",
        "NYU CTF Bench: challenges of the CSAW competitions.",
        tasks=257,
        places=tuple(
            Place(folder, ("test_dataset.json", "development_dataset.json"))
            for folder in ("ctf/nyu_ctf_bench", "ctf/NYU_CTF_Bench", "NYU_CTF_Bench")
        ),
        parts=("test", "development"),
        package="nyu-ctf",
        loader="nyu_ctf:load",
        licence="GPL-2.0",
    ),
)

_SWE = (
    Source(
        "swe-bench-lite",
        "SWE-bench Lite: issues of twelve Python repositories, which it does not bring.",
        tasks=300,
        places=(
            Place("swe_bench", ("swe_bench_lite_test.jsonl",)),
            Place("swe_bench", ("swe_bench_lite.parquet",)),
        ),
        package="swe-bench-lite",
        loader="swe_bench:load_lite",
    ),
    Source(
        "swe-bench-verified",
        "SWE-bench Verified: those issues that people found to be solvable.",
        tasks=500,
        places=(
            Place("swe_bench", ("swe_bench_verified.parquet",)),
            Place("swe_bench", ("swe_bench_verified_subset_columns.jsonl",)),
        ),
        package="swe-bench-verified",
        loader="swe_bench:load_verified",
    ),
    Source(
        "swe-bench",
        "SWE-bench, all of its test part; swe-bench:PATH is any file of such rows.",
        tasks=None,
        places=tuple(
            Place("swe_bench", (name,))
            for name in ("swe_bench_test.parquet", "ic_swe_bench.json", "ic_swe_bench_lite.json")
        ),
        package="swe-bench",
        loader="swe_bench:load",
        tables=True,
    ),
)

_CODE = (
    Source(
        "multipl-e",
        "MultiPL-E: HumanEval's functions in other languages; multipl-e:PATH is any such file.",
        tasks=None,
        places=(Place("", ("multipl-e",)),),
        package="multipl-e",
        loader="multipl_e:load",
        tables=True,
    ),
)

SOURCES = {source.name: source for source in (*_BASH, *_SQL, *_PYTHON, *_CTF, *_SWE, *_CODE)}
