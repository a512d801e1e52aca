"""What `System` is made of: one file for bodies and places, joints, rolling, relations, and force elements each."""
