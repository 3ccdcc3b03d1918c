"""Keeping a site running: its process, maintenance, health and backups."""
