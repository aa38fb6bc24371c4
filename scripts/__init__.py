"""What a user runs: one file a verb of the command `pliant`, each also runnable by itself."""
