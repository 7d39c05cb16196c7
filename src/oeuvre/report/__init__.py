"""Pictures of a stream's loss."""
