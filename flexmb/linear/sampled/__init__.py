"""Sampled controllers in equilibria and small motions: derivatives of a sample, maps over a period, responses."""
