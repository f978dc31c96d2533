"""`python -m fenster`, the same as `fenster`."""

from fenster.cli import main

if __name__ == "__main__":
    main()
