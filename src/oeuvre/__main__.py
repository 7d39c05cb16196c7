"""`python -m oeuvre` is the command line."""

from oeuvre.cli import main

if __name__ == "__main__":
    main()
