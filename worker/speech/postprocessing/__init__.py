"""What becomes of speech after the engine: judged, its edges finished, stored. In processes beside the worker."""
