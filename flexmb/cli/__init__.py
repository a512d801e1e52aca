"""The command line `flexmb`, with one file for each command."""
