"""``python -m holdfast`` is ``python -m holdfast_memory``."""

import sys

from holdfast_memory.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
