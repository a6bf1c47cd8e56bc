"""Which files upstream publishes for each dataset, at which commit, with which checksums."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Upstream:
    """One file: ``path`` below our data folder, ``address`` below the public home, or in full.

    When copying from a folder, ``stand_in`` may take its place: the file system as a tar, the same
    tasks under another name. With ``editions`` other editions of the file are in use, so that a
    copy's checksum may be another.
    """

    path: str
    address: str
    sha256: str | None = None
    stand_in: str | None = None
    editions: bool = False


@dataclass(frozen=True)
class Tree:
    """Files that upstream publishes in an archive only: they are copied where a folder has them,
    and never downloaded. ``path`` is their folder below our data folder, ``also`` other names that
    it goes by, ``pattern`` which files below it are meant."""

    path: str
    pattern: str
    also: tuple[str, ...] = ()


_INTERCODE = "princeton-nlp/intercode/c3e46d827cfc9d4c704ec078f7abf9f41e3191d8"
_ALFA = "westenfelder/InterCode-ALFA/2d3a69473a68569828ab0b4859073ef4a0ae482c"
_NL2BASH = "TellinaTool/nl2bash/466c5fe873ab08c7cc0112ea1521cc6ad9c20992"

_SPIDER = "taoyds/spider/b7b5b8c890cd30e35427348bb9eb8c6d1350ca7c/evaluation_examples/examples"
_BIRD_REPACKED = "peterbaile/jar/5e48132751c28c53474cbdc1ae49db7fb2c608b2/data/bird"
_BIRD_MINI = "bird-bench/mini_dev/f2f6603b763204df683dab0c70ea187182d14230/llm/data"
_SPIDER2 = "xlang-ai/Spider2/e12c5f1e6550a5df88995520c3bf00bbe7bad2d2/spider2-lite"

_MBPP = "google-research/google-research/30adf0ec5f35f9609c2f1d896005e184195d9146/mbpp"
_HUMANEVAL = "openai/human-eval/6d43fb980f9fee3c892a914eda09951f772ad10d/data"
_EVALPLUS = "https://github.com/evalplus"
_DS1000 = "https://raw.githubusercontent.com/xlang-ai/DS-1000/main/data"
_APPS = "https://people.eecs.berkeley.edu/~hendrycks"
_SWE_BENCH = "https://huggingface.co/datasets/princeton-nlp"
_SWE_BENCH_FILE = "resolve/main/data/test-00000-of-00001.parquet"

_MULTIPL_E = {
    "nuprl/MultiPL-E/3c9a62a1a8f854b75a90a2fabc829e3d34b8d17b": ("js", "rb", "lua", "go", "rs"),
    "nuprl/MultiPL-E/f9b4ccd0a1edeb5a4515d9f229694256e4eec89d": ("pl", "r", "cpp", "java"),
}

_NYU_CTF = "NYU-LLM-CTF/NYU_CTF_Bench/4c5744f55a31a58e03d6118c9dbb1c18e5bbdfa9"
_REPOSITORIES = "https://codeload.github.com"

_INTERCODE_TASKS = {
    "nl2bash_fs_1.json": "60f88e1aacc7ebba535093f9890c5c33203f4e5f32958e0e94fbe90ec4f01c82",
    "nl2bash_fs_2.json": "8f4ce24e535fab782fda607e37db2ae1d6c5f99993c638d1ac0a7e0b542f633e",
    "nl2bash_fs_3.json": "a2d4ec8bc7ad69a4e2fb3eb84033994cf65ee9cfb355e3e63099df67a339b2e1",
    "nl2bash_fs_4.json": "ce41b89450f87765a02a51df259ca0c1762e8249185c022adb089147e2c16200",
    "test_queries.json": "d24a7a1eb61c2621c48a42f942d08f6aa02066630ab49c2a07de2530a226e0aa",
}
_INTERCODE_SCRIPTS = {
    "fs_1": "02b9a2206d809a9fca03b755e61b94618248a400fd3132ac61d32b6f3009dd3f",
    "fs_2": "05c3109c4e9999e661d66c6d74137f0238b88017ec9cf884abdda0499e94ff1d",
    "fs_3": "5e8d9f832f272c31dfb73567e75d33efb970d4e4bf9a8e691582d4fa09422d09",
    "fs_4": "c5fb550aa1578fe2454e8ab06221165df90311231cb71d3d9b0ce036a8235274",
}
_ALFA_TASKS = {
    "nl2bash_fs_1.json": "a1188bc914e753febc0edab0dea150fc5cee19ce03e5334260fb9f25ab6349ca",
    "nl2bash_fs_2.json": "c347fed75de06e7ca87fff6f293d99f3219e2826e8bfdff87f043d552f4cbbeb",
    "nl2bash_fs_3.json": "21c1bc5d095443ac8cf53c39fde7ae47dd386947ddae8d0f6b5711875cc53c20",
    "nl2bash_fs_4.json": "e819cb06833c5413a82bfb4e401696e4833dfab5a1c79963d58bcfb45435aca9",
    "nl2bash_fs_5.json": "764e6f80873074634dee6b8995ea55a23c04ca3a6ffc2b2415b4571769fc17fe",
}
_BIRD_MINI_TASKS = {
    "mini_dev_sqlite.json": "4ba5fa8de55856222f484d380d2ba872b380bf79d825de70478e2120cb0fc43b",
    "mini_dev_mysql.json": "89e0faf6b0925976ce7fc4e87bad7e870571dbc5d1582d24d99b01159ccd821b",
    "mini_dev_postgresql.json": "d2731292f20b8d8569cd956dd747ffe1df13cd625076263e38ae9ebcef50b1ab",
}
_NYU_CTF_TASKS = {
    "test": "aefc52210cb7f15509d82f3ee4b163df6fc331ee446a0977bca1db5fd99fa0a4",
    "development": "8d81040300001bfe8fa7d4cc0be0301d21107331125053ccff3120e22d407533",
}
_CORPUS = {
    "LICENSE": "4ac5c8b7fb1d1fccfa52916749674d67b2024c76616fed89db7f67a976056750",
    "all.cm": "3a72eaced7fa14a0938354cefc42b2dcafb2d47297102f1279086e18c3abe57e",
    "all.nl": "1db0c529c350b463919624550b8f5882a97c42ad5051c7d49fbc496bc4e8b770",
}


def _intercode_script(script: str, archive: str, sha256: str | None) -> Upstream:
    return Upstream(
        f"nl2bash/filesystems/{script}",
        f"{_INTERCODE}/docker/bash_scripts/{script}",
        sha256,
        stand_in=f"nl2bash/filesystems/{archive}",
    )


def _archive_of(commit: str) -> str:
    """``OWNER/NAME/COMMIT`` as the address of an archive of all its files."""
    owner, name, sha = commit.split("/")
    return f"{owner}/{name}/tar.gz/{sha}"


def _alfa_script(part: str) -> Upstream:
    return Upstream(
        f"intercode_alfa/filesystems/setup_nl2b_{part}.sh",
        f"{_ALFA}/src/icalfa/assets/docker/setup_nl2b_{part}.sh",
        stand_in=f"intercode_alfa/filesystems/nl2bash_{part}.tar",
    )


PACKAGES: dict[str, list[Upstream]] = {
    "nl2bash": [
        *(
            Upstream(f"nl2bash/{name}", f"{_INTERCODE}/data/nl2bash/{name}", sha256)
            for name, sha256 in _INTERCODE_TASKS.items()
        ),
        *(
            _intercode_script(f"setup_nl2b_{part}.sh", f"nl2bash_{part}.tar", sha256)
            for part, sha256 in _INTERCODE_SCRIPTS.items()
        ),
        _intercode_script("setup_fs.sh", "bash_fs.tar", None),
    ],
    "nl2bash-corpus": [
        Upstream(f"nl2bash/raw/{name}", f"{_NL2BASH}/data/bash/{name}", sha256)
        for name, sha256 in _CORPUS.items()
    ],
    "alfa": [
        *(
            Upstream(f"intercode_alfa/{name}", f"{_ALFA}/src/icalfa/assets/datasets/{name}", sha256)
            for name, sha256 in _ALFA_TASKS.items()
        ),
        *(_alfa_script(f"fs_{n}") for n in range(1, 6)),
    ],
    "spider": [
        Upstream(
            "spider/ic_spider_dev.json",
            f"{_INTERCODE}/data/sql/spider/ic_spider_dev.json",
            "68c9ecb0692c80770f46c724cc073ea76be4f301a294caa532c050546948128e",
        ),
        Upstream(
            "spider/ic_spider_dbs.sql",
            f"{_INTERCODE}/data/sql/spider/ic_spider_dbs.sql",
            "61f6e8000cb5bb696f123fa55e111acdcd8da7eca64f452a36fd1a6e5fb1781a",
        ),
    ],
    "spider-upstream": [
        Upstream(
            "spider/upstream/dev.json",
            f"{_SPIDER}/dev.json",
            "30d64a3fccde493226df79687aed9e4a1c0129525baf44f29c0573d914d758a4",
            editions=True,
        ),
        Upstream(
            "spider/upstream/tables.json",
            f"{_SPIDER}/tables.json",
            "61bb20aa401f03164e2d7f3b16509b7b5f79cc9c943ca7bd159046df1159e2ed",
            editions=True,
        ),
    ],
    "bird": [
        Upstream(
            "bird/ic_bird.json",
            f"{_INTERCODE}/data/sql/bird/ic_bird.json",
            "05fb4d4402a589b8a7e6c7048b65fbe0d89300baf8b09b02c20c64500bdd9e21",
        ),
    ],
    "bird-dev": [
        Upstream(
            "bird/dev_jar.json",
            f"{_BIRD_REPACKED}/dev.json",
            "4effa9666b45d6a5e3900d0b533bdfe1ff5879fa6cd26cbeac18e30b70195171",
            stand_in="bird/dev.json",
        ),
    ],
    "bird-mini": [
        Upstream(f"bird/mini_dev/{name}", f"{_BIRD_MINI}/{name}", sha256, editions=True)
        for name, sha256 in _BIRD_MINI_TASKS.items()
    ],
    "wikisql": [
        Upstream(
            "wikisql/ic_wikisql_dev.json",
            f"{_INTERCODE}/data/sql/wikisql/ic_wikisql_dev.json",
            "70f8f907c9c7b101d74910c03ae4c27b21ddc83b7441588a9e0f2a909958c2cf",
        ),
        Upstream(
            "wikisql/ic_wikisql_dev.sql",
            f"{_INTERCODE}/data/sql/wikisql/ic_wikisql_dev.sql",
            "407641b3b9f38dc1e10ce8914f6932b2ef0e93725ebb9937aea99582027e2afe",
        ),
    ],
    "spider2-lite": [
        Upstream(
            "spider2_lite/spider2-lite.jsonl",
            f"{_SPIDER2}/spider2-lite.jsonl",
            "4ba48916576fbd60311a2478c6d4550b5d8cf3fcbc512457ea493b5941ca009d",
            editions=True,
        ),
        Upstream(
            "spider2_lite/spider2lite_eval.jsonl",
            f"{_SPIDER2}/evaluation_suite/gold/spider2lite_eval.jsonl",
            "5113ddaea6107492c08a898241a9f69ec99b03bc60d014e9f0b12ec59fa28970",
            stand_in="spider2_lite/evaluation_suite/gold/spider2lite_eval.jsonl",
            editions=True,
        ),
    ],
    "mbpp": [
        Upstream(
            "python/mbpp/mbpp.jsonl",
            f"{_MBPP}/mbpp.jsonl",
            "ccf64ceae9c5403bf50a044cb6d505bfd2a2963ee58338ba268fd65beab92a9f",
        ),
        Upstream(
            "python/mbpp/sanitized-mbpp.json",
            f"{_MBPP}/sanitized-mbpp.json",
            "ca95deaa9a01ef0a6f439f88bcf0dd3db3563d22f22aad6cae04ebb9a8d8c8e9",
        ),
        Upstream(
            "python/mbpp/ic_mbpp.json",
            f"{_INTERCODE}/data/python/mbpp/ic_mbpp.json",
            "4995ef1997ae7ee78c13b57bdba5c68c7989bbd31738837cc5f60c455ec0bcc7",
        ),
    ],
    "humaneval": [
        Upstream(
            "python/humaneval/HumanEval.jsonl.gz",
            f"{_HUMANEVAL}/HumanEval.jsonl.gz",
            "b796127e635a67f93fb35c04f4cb03cf06f38c8072ee7cee8833d7bee06979ef",
        ),
    ],
    "mbpp-plus": [
        Upstream(
            "python/mbppplus/MbppPlus.jsonl.gz",
            f"{_EVALPLUS}/mbppplus_release/releases/download/v0.2.0/MbppPlus.jsonl.gz",
            stand_in="python/mbppplus/MbppPlus.jsonl",
        ),
    ],
    "humaneval-plus": [
        Upstream(
            "python/humanevalplus/HumanEvalPlus.jsonl.gz",
            f"{_EVALPLUS}/humanevalplus_release/releases/download/v0.1.10/HumanEvalPlus.jsonl.gz",
            stand_in="python/humanevalplus/HumanEvalPlus.jsonl",
        ),
    ],
    "apps": [Upstream("python/APPS.tar.gz", f"{_APPS}/APPS.tar.gz")],
    "swe-bench": [
        Upstream(
            "swe_bench/swe_bench_test.parquet",
            f"{_SWE_BENCH}/SWE-bench/{_SWE_BENCH_FILE}",
            stand_in="swe_bench/ic_swe_bench.json",
        ),
    ],
    "swe-bench-lite": [
        Upstream(
            "swe_bench/swe_bench_lite.parquet",
            f"{_SWE_BENCH}/SWE-bench_Lite/{_SWE_BENCH_FILE}",
            stand_in="swe_bench/swe_bench_lite_test.jsonl",
        ),
    ],
    "swe-bench-verified": [
        Upstream(
            "swe_bench/swe_bench_verified.parquet",
            f"{_SWE_BENCH}/SWE-bench_Verified/{_SWE_BENCH_FILE}",
            stand_in="swe_bench/swe_bench_verified_subset_columns.jsonl",
        ),
    ],
    "ds1000": [
        Upstream(
            "python/ds1000/ds1000.jsonl.gz",
            f"{_DS1000}/ds1000.jsonl.gz",
            stand_in="python/ds1000/ds1000.jsonl",
        ),
    ],
    "multipl-e": [
        Upstream(
            f"multipl-e/humaneval-{name}.jsonl",
            f"{commit}/prompts/humaneval-{name}-reworded.jsonl",
        )
        for commit, names in _MULTIPL_E.items()
        for name in names
    ],
    "ctf": [
        Upstream(
            "ctf/intercode/ic_ctf.json",
            f"{_INTERCODE}/data/ctf/ic_ctf.json",
            "7d5c29724d23719de369e31126c26ebc9a925ae21769f1c3c029abf074def126",
        ),
        # The challenges' files are published in the repository only; it is fetched whole.
        Upstream(
            "ctf/intercode/intercode.tar.gz",
            f"{_REPOSITORIES}/{_archive_of(_INTERCODE)}",
            stand_in="ctf/intercode/task_assets.tar.gz",
        ),
    ],
    "nyu-ctf": [
        Upstream(
            f"ctf/nyu_ctf_bench/{name}_dataset.json",
            f"{_NYU_CTF}/{name}_dataset.json",
            sha256,
            editions=True,
        )
        for name, sha256 in _NYU_CTF_TASKS.items()
    ],
}

_BIRD_DATABASES = Tree("bird/dev_databases", "*/*.sqlite")

TREES: dict[str, list[Tree]] = {
    "humaneval-plus": [
        Tree("python/humanevalplus", "HumanEvalPlusInputs.jsonl"),
        Tree("python/humaneval", "HumanEval.jsonl*"),
    ],
    "spider-upstream": [
        Tree("spider/upstream", "train_*.json"),
        Tree("spider/upstream", "test*.json"),
        Tree("spider/upstream/database", "*/*.sqlite", also=("spider/sqlite_spider",)),
        Tree("spider/upstream/test_database", "*/*.sqlite"),
    ],
    "nyu-ctf": [
        Tree("ctf/nyu_ctf_bench", "test/**/*"),
        Tree("ctf/nyu_ctf_bench", "development/**/*"),
    ],
    "bird": [Tree("bird", "ic_bird_dbs.sql"), _BIRD_DATABASES],
    "bird-dev": [_BIRD_DATABASES],
    "bird-mini": [_BIRD_DATABASES, Tree("bird/mini_dev", "MINIDEV_*/BIRD_dev.sql")],
    "spider2-lite": [
        Tree("spider2_lite", "gold_local.tar.gz"),
        Tree("spider2_lite/evaluation_suite/gold", "sql/*.sql"),
        Tree("spider2_lite/evaluation_suite/gold", "exec_result/*.csv"),
        Tree("spider2_lite/resource/documents", "*.md"),
        Tree("spider2_lite/resource/databases/spider2-localdb", "*.sqlite"),
    ],
}

ALIASES = {"nl2bash-test": "nl2bash", "mbpp-sanitized": "mbpp"}
