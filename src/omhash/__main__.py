"""`python -m omhash` is the command `omhash`."""

from .cli import main

if __name__ == "__main__":
    main()
