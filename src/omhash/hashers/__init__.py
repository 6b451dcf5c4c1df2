"""Hashing methods, one file each."""
