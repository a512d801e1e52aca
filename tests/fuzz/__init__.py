"""The fuzzer: damaged files, models and command lines, each of which must give a result or one error of ours that names it.

python -m tests.fuzz --cases 10000 --workers 2 --seed 1
"""
