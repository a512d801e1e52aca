"""`python -m flexmb`: the command line, also where its script is not on the path."""

from flexmb.cli.main import main

if __name__ == "__main__":
    main()
