"""What the Python environments load into interpreters, beyond executing actions."""
