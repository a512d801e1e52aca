"""What `System` is made of: one file for bodies and places, joints, rolling, relations, force elements,
contacts and controllers each."""
