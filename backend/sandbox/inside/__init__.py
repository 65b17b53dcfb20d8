"""What runs inside the sandbox's own process: started as a top-level package, it imports nothing of the application."""
