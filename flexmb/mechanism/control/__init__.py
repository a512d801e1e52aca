"""Controllers: laws with states that compute commands from measured signals."""
