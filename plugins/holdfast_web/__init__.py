"""``holdfast web``: a read-only page on loopback that shows what :mod:`holdfast_app.view` prepares."""
