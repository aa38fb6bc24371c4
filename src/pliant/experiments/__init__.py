"""Published experiments on compliant arms, rebuilt, one file an experiment; and the work of `pliant ilc`.

`experiment` says what an experiment is, `reproduction` runs them.
"""
