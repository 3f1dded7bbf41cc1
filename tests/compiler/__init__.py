"""Tests of ``compile``. What is meant to be compiled has to be: here a function that can't be is an error."""

import functools

import pullback

compile = functools.partial(pullback.compile, fullgraph=True)
