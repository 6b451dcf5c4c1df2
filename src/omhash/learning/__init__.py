"""The mathematics that methods share. Arrays in, arrays out."""
