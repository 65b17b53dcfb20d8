"""Who executes runs: threads of this process."""
