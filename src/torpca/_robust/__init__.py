"""Beyond the paper: a start, estimated cut-offs, reweighting, consistency."""
