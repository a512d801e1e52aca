"""The command line `flexmb`: one file a verb."""
