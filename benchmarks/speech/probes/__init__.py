"""Good speech made bad in every way that a listener would hear, by kind and strength: what the gate is probed with."""
