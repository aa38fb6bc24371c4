"""Emulators: simulated machines behind the real wire protocol, for drivers that know only the wire."""
