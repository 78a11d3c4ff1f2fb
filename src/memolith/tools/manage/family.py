"""The manage family: what the documented tools leave out, over REST and the command line only."""

from memolith.tools.family import Family

manage = Family("manage", listed_over_mcp=False)
