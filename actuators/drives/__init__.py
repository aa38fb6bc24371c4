"""The drives that come with Pliant, one a file. One of your own needs no place here: pass it as an object."""
