"""What requests hold and answers look like, as pydantic models: checked on the way in, documented on the way out."""
