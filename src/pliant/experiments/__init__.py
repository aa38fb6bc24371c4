"""Published experiments on compliant arms, rebuilt: one file an experiment."""
