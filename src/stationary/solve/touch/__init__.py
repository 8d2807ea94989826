"""Motions that touch: dry friction, contacts and impacts, from change to change."""
