"""The type checker that the tests put on every annotated function: shapes and types, with integers accepted as numbers."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
