"""One episode from beginning to end: reset, look around, answer, submit.

python examples/first_episode.py
"""

from __future__ import annotations

import intercode


def main() -> None:
    env = intercode.make("intercode/Bash-v2", dataset="bundled")
    try:
        instruction, _ = env.reset(seed=0, options={"task": "shop-01"})
        print(instruction)
        for action in (
            "cd /shop/logs && ls",
            "head -n 2 access.log",
            "awk '$9 == 404' access.log | wc -l",
        ):
            observation, _, _, _, info = env.step(action)
            print(f"\n> {action}\n{observation.rstrip()}")
            print(f"[exit code {info['exit_code']}; submitting now: {env.score().reward:.2f}]")
        _, reward, terminated, _, info = env.step("submit")
        assert terminated
        print(f"\nreward {reward:.2f}, made of {dict(info['score'].components)}")
    finally:
        env.close()


if __name__ == "__main__":
    main()
