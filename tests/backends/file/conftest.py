"""Lets the tests of this folder import their kit, here and in the processes that they start."""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
