"""Files that another library reads: what it lacks is added, and its errors say what to do."""
