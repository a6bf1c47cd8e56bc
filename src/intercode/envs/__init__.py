"""The environments. Importing this package makes their names known to Gymnasium::

    import gymnasium, intercode.envs
    env = gymnasium.make("intercode/Bash-v2", dataset="bundled")

Gymnasium imports it by itself for ``gymnasium.make("intercode.envs:intercode/Bash-v2")``.
"""

from intercode.envs.registration import register_envs

register_envs()
