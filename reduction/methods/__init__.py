"""Reduction methods, one a file."""

from fem.renamed import refuse_old_names

refuse_old_names(__name__)
