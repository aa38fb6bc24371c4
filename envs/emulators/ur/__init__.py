"""An emulated Universal Robots controller: the wire that the vendor-neutral client speaks, MuJoCo behind it."""
