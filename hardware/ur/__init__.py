"""Arms of Universal Robots over the vendor-neutral client `ur-rtde`, which runs in a process of its own."""
