"""Online multi-modal hashing: short codes learned from a stream."""
