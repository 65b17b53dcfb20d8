"""Where the state of a run is kept: in the database, or in memory for scripts and tests."""
