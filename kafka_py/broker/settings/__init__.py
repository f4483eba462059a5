"""A broker's settings: the table, those of topics, how they change while it runs and how they are shown."""
