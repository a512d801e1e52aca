"""Time integration methods: one file each."""
