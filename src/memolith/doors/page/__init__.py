"""The web page: a door for people. Every number on it comes from the tools that agents call."""
