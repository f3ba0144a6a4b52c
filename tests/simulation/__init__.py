"""Simulated crashes: one seed is one history of processes, faults and power cuts on a disk in memory."""
