"""What was learned beforehand and comes with the package: policies, a gait and a feed-forward to start from.

A folder each: the file itself, `example.yaml` (what it is, which verbs take it, with which settings), `made.json`
(the command, seed and versions that made it, and its score) and `settings.yaml` (all settings of that run).
A newer run takes an example's place by `python -m pliant.examples.packing NAME RUN`; see docs/examples.md.
"""
