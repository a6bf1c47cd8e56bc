"""Rules for all tests: where data is, and what a skip means where every part should be there."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no reason to fail.
settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")

_MAY_BE_ABSENT = re.compile(
    r"cannot (limit|freeze)|this kernel has no|32-bit calls|this is already the run inside"
    r"|needs more than one user|there the kernel guards|no test:"
)
"""Reasons of skips that no installing mends: the kernel's, the processor's, or deliberate ones."""


@pytest.fixture(scope="session")
def data() -> Path:
    """Upstream's data, or a skip."""
    folder = os.environ.get("INTERCODE_DATA")
    if not folder or not Path(folder, "nl2bash").is_dir():
        pytest.skip("needs upstream's data: set INTERCODE_DATA")
    return Path(folder)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):  # type: ignore[no-untyped-def]
    """Under INTERCODE_CI a skip for a missing part is a failure."""
    report = yield
    if os.environ.get("INTERCODE_CI") and report.skipped and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if not _MAY_BE_ABSENT.search(reason):
            report.outcome = "failed"
            report.longrepr = f"skipped, but every part should be here: {reason}"
    return report
