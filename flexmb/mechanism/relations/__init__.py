"""Relations between the coordinates of joints: gears, racks, screws, differentials."""
