"""Front processes of a GPU worker: each claims and finishes items with its share of the engine's slots."""
