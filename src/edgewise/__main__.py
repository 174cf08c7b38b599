"""``python -m edgewise`` is the same as the command ``edgewise``."""

from edgewise.cli import main

if __name__ == "__main__":
    main()
