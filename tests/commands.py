"""Commands, run in the process of a test."""

from functools import cache
from unittest.mock import patch

from typer.main import get_command
from typer.testing import CliRunner, Result

from edgewise.cli.app import app


@cache
def built_once(app):
    """Build the commands; typer's runner does so for every run, which takes longer than most."""
    return get_command(app)


def invoke(*arguments, **options) -> Result:
    """Run a command as a process would, and return its exit code and what it said."""
    with patch("typer.testing._get_command", built_once, create=True):
        return CliRunner().invoke(app, [str(argument) for argument in arguments], **options)
