"""The journals of an application: packed when their sessions ended long ago, and chained against tampering."""
