"""The command line: ``pullback run``, ``provide-torch``, ``stubs``, ``explain``, ``errors``, ``demo``, ``bench``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import click


def main() -> None:
    """Entry point of the ``pullback`` command."""
    if sys.argv[1:2] == ["run"]:  # past click, which would have its own way with the program's exceptions
        from .run import main as run

        run(sys.argv[2:])
    else:
        commands().main()


def leading(args: list[str], known: set[str]) -> tuple[list[str], list[str]]:
    """The options with a value that arguments begin with, and the rest."""
    end = 0
    while end < len(args) and args[end].partition("=")[0] in known:
        end += 1 if "=" in args[end] else 2
    return args[:end], args[end:]


def commands() -> click.Group:
    """The commands as click sees them."""
    import click

    from ..base.version import __version__ as torch_version
    from ..base.version import pullback as version
    from . import run
    from .bench import PROGRAMS as BENCHMARKS
    from .demo import PROGRAMS

    @click.group(context_settings={"help_option_names": ["-h", "--help"]})
    @click.version_option(version, message="%(prog)s %(version)s", prog_name="pullback")
    def pullback() -> None:
        """PyTorch's autograd in pure Python on NumPy, with a backward pass that people can see."""

    @pullback.command("run", context_settings={"ignore_unknown_options": True}, add_help_option=False)
    @click.argument("program", nargs=-1, type=click.UNPROCESSED)
    def run_program(program: tuple[str, ...]) -> None:
        """Run a PyTorch program without PyTorch: script.py, -m module, -c code or -, then its arguments."""
        run.main(program)

    class BehindToo(click.Command):
        """A command whose options may also stand right behind the program's name."""

        def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
            known = {name for p in self.params for name in p.opts if name.startswith("--")}
            front, rest = leading(args, known)
            size = 2 if rest[:1] in (["-m"], ["-c"]) else 1
            program, rest = rest[:size], rest[size:]
            behind, rest = leading(rest, known)
            lost = [a for a in rest if rest[:1] != ["--"] and a.partition("=")[0] in known]
            if lost:
                click.echo(
                    f"pullback explain: {lost[0]} stands behind the program's own arguments, so it is given to the "
                    "program; put it in front of them",
                    err=True,
                )
            return super().parse_args(ctx, [*front, *behind, *program, *(rest[1:] if rest[:1] == ["--"] else rest)])

    class Which(click.ParamType):
        """Which backward pass: a number, or a word."""

        name = "integer|first-bad|last"

        def convert(self, value: Any, param: Any, ctx: Any) -> int | str:
            if value in ("first-bad", "last"):
                return value
            return click.IntRange(1).convert(value, param, ctx)

    @pullback.command(
        "explain", cls=BehindToo, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
    )
    @click.option(
        "--out", type=click.Path(dir_okay=False), help="Write a file instead: .html, .svg, .json, .dot, .mmd or .txt."
    )
    @click.option(
        "--step",
        type=Which(),
        help="Which backward pass to explain: its number, counted from 1; `first-bad` (not finite, or with a loss far "
        "above the first), the default where there is one; or `last`.",
    )
    @click.argument("program", nargs=-1, type=click.UNPROCESSED, required=True)
    def explain_program(out: str | None, step: int | str | None, program: tuple[str, ...]) -> None:
        """Run a program as `pullback run` does, and explain its first bad backward pass, or else its last one.

        The options may also stand right behind the program; what follows `--` or any other argument is the program's
        own.
        """
        from .explain_script import explained

        explained(program, out, step)

    @pullback.command("errors")
    @click.argument("name", required=False)
    def error_pages(name: str | None) -> None:
        """Print the page NAME, about an error or a finding: its cause and what to do. Without NAME, list the pages.

        Messages end in the name of their page.
        """
        from .errors import show

        show(name)

    @pullback.command("provide-torch")
    @click.option("--uninstall", is_flag=True, help="Remove it again.")
    def provide_torch(uninstall: bool) -> None:
        """Install a distribution named torch, which is Pullback, in this environment.

        Libraries that require torch then install without PyTorch, and `import torch` works without `pullback run`. It
        never replaces PyTorch.
        """
        from .provide import NotProvided, provide, remove

        try:
            if uninstall:
                click.echo("Removed torch." if remove() else "There is no torch of Pullback's to remove.")
            else:
                folder = provide()
                click.echo(f"torch {torch_version} is Pullback {version}, in {folder}.")
        except NotProvided as error:
            raise click.ClickException(str(error)) from None

    @pullback.command("stubs")
    @click.option("--as", "name", default="torch", show_default=True, help="What programs import it as.")
    @click.option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        help="A folder for the package, instead of that of the installed packages.",
    )
    def write_stubs(name: str, out: Path | None) -> None:
        """Write torch-stubs, a package in which type checkers find the types of `import torch`.

        Programs that say `import pullback as torch` need none of this.
        """
        from .stubs import NotWritten, write

        try:
            click.echo(f"The types of {name} are Pullback's, in {write(name, out)}.")
        except NotWritten as error:
            raise click.ClickException(str(error)) from None

    @pullback.command()
    @click.argument("number", required=False, type=click.IntRange(1, len(PROGRAMS)))
    @click.option("--seed", default=0, show_default=True, help="Given to manual_seed before each program.")
    def demo(number: int | None, seed: int) -> None:
        """Run the demo programs, or the one with that NUMBER, and show the backward pass of each."""
        from .demo import show

        for program in [number] if number else range(1, len(PROGRAMS) + 1):
            show(program, seed)

    @pullback.command()
    @click.argument("programs", nargs=-1, type=click.Choice(list(BENCHMARKS)), metavar="[PROGRAM]...")
    @click.option("--seconds", default=3.0, show_default=True, help="How long to run each program, about.")
    @click.option("--threads", default=1, show_default=True, type=click.IntRange(1))
    def bench(programs: tuple[str, ...], seconds: float, threads: int) -> None:
        """Time programs, eager and compiled, beside PyTorch where that is installed: ratios below 1 are faster."""
        from .bench import main

        main(list(programs), seconds, threads)

    return pullback
