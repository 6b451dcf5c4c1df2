"""A collection on Milvus, or in a file of Milvus Lite; nothing here is imported without need."""
