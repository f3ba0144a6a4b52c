"""``python -P -m holdfast_memory``."""

import sys

from holdfast_memory import main

if __name__ == "__main__":
    sys.exit(main())
