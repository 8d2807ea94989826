"""What comes back: results that carry their own evidence."""
