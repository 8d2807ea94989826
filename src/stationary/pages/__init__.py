"""What pages are made of, whatever they tell."""
