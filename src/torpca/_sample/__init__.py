"""A sample of the rows: in a basis of their own, and subspaces of parts of it."""
