"""The steps of a training loop: a bar on the terminal while they run, and lines of numbers that stay."""

import sys
import time

WIDTH = 72


def training(steps):
    """Yield 0, 1, ... `steps` - 1, with a bar below the output if there is a terminal to draw it on."""
    begun, bar = time.monotonic(), sys.stderr.isatty()
    for step in range(steps):
        if bar:
            done = step / steps
            left = f"{(time.monotonic() - begun) * (1 / done - 1):.0f} s left" if step else ""
            draw(f"{step}/{steps} [{'#' * int(30 * done):30}] {left}")
        yield step
    if bar:
        draw("")


def report(step, every, **numbers):
    """Print `numbers` in the first five steps and then in one of `every`."""
    if step < 5 or (step + 1) % every == 0:
        if sys.stderr.isatty():
            draw("")
        print(f"step {step + 1:5d}", *(f"{name} {value:.7g}" for name, value in numbers.items()), flush=True)


def draw(text):
    sys.stderr.write(f"\r{text:{WIDTH}}\r{text}")
    sys.stderr.flush()
