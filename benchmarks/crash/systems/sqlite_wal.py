"""Yardstick: SQLite as most applications set it up (WAL, synchronous = NORMAL). Its manual says that a power cut may
take back the last transactions: https://www.sqlite.org/pragma.html#pragma_synchronous"""

from systems import sqlite


class Store(sqlite.Store):
    setup = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
