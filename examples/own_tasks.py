"""Tasks of one's own, out of a table: prove them sound in two lines, then play one.

    python examples/own_tasks.py

Each row of tasks.csv has an instruction (``query``), a command that does it (``gold``) and the
commands that make the files it starts from (``setup``).
"""

from __future__ import annotations

from pathlib import Path

from intercode.agents.basic import GoldAgent, NoopAgent
from intercode.envs.registration import environment_factory
from intercode.runs.episode import play_episode
from intercode.tasks.registry import load

TABLE = Path(__file__).with_name("tasks.csv")


def main() -> None:
    dataset = load(str(TABLE))
    print(f"{dataset.name}: {len(dataset)} tasks, digest {dataset.digest}")
    with environment_factory("Bash-v2", dataset) as make_env:
        env = make_env()
        for task in dataset:
            solved = play_episode(env, GoldAgent(), task)
            idle = play_episode(env, NoopAgent(), task)
            print(f"{task.id:8} gold {solved.reward}  doing nothing {idle.reward}")
            assert solved.success, solved.message
            assert not idle.success


if __name__ == "__main__":
    main()
