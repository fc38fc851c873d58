"""`python -m torpca` is the command line."""

from torpca._cli import main

if __name__ == "__main__":
    main()
