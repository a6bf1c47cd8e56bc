"""Several futures from one moment: fork an episode, score each branch, keep the best.

    python examples/branching.py

The same is the inner step of a tree search, or of a policy gradient over several continuations.
"""

from __future__ import annotations

import intercode

CANDIDATES = (
    "grep -c 404 access.log",  # counts sizes and paths that hold 404 as well
    "awk '$9 == 404' access.log",  # prints the lines, not their number
    "awk '$9 == 404' access.log | wc -l",
)


def main() -> None:
    env = intercode.make("intercode/Bash-v2", dataset="bundled")
    try:
        env.reset(options={"task": "shop-01"})
        env.step("cd /shop/logs")  # every branch goes on from this directory

        scores = {}
        for branch, candidate in zip(env.fork(len(CANDIDATES)), CANDIDATES, strict=True):
            branch.step(candidate)
            scores[candidate] = branch.score().reward
            branch.close()
            print(f"{scores[candidate]:.2f}  {candidate}")

        moment = env.snapshot()
        env.step("rm -rf /shop")
        print(f"after a mistake: {env.score().reward:.2f}")
        env.restore(moment)
        env.step(max(scores, key=scores.__getitem__))
        reward = env.step("submit")[1]
        print(f"gone back, and done the best: {reward:.2f}")
        assert reward == 1.0
    finally:
        env.close()


if __name__ == "__main__":
    main()
