"""Which files upstream publishes for each dataset, at which commit, with which checksums."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Upstream:
    """One file: ``path`` below our data folder, ``address`` below the public home.

    ``archive`` is what may stand in for it when copying from a folder: the file system as a tar.
    """

    path: str
    address: str
    sha256: str | None = None
    archive: str | None = None


_INTERCODE = "princeton-nlp/intercode/c3e46d827cfc9d4c704ec078f7abf9f41e3191d8"
_ALFA = "westenfelder/InterCode-ALFA/2d3a69473a68569828ab0b4859073ef4a0ae482c"
_NL2BASH = "TellinaTool/nl2bash/466c5fe873ab08c7cc0112ea1521cc6ad9c20992"

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
        archive=f"nl2bash/filesystems/{archive}",
    )


def _alfa_script(part: str) -> Upstream:
    return Upstream(
        f"intercode_alfa/filesystems/setup_nl2b_{part}.sh",
        f"{_ALFA}/src/icalfa/assets/docker/setup_nl2b_{part}.sh",
        archive=f"intercode_alfa/filesystems/nl2bash_{part}.tar",
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
}

ALIASES = {"nl2bash-test": "nl2bash"}
