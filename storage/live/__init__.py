"""What the API and a worker say to each other while a listener hears speech that is being made."""
