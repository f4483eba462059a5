"""Records on their way in: fetches under way, their sessions, and answers until they are handed out."""
