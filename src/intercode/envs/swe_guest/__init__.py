"""Programs of ours that run inside, in a sandbox that no agent has touched: Python 3.6 will do."""
