"""Promotion and demotion: when an eval earns ALWAYS_PASSES, and when it loses it."""
