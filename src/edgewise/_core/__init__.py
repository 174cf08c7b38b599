"""Small parts shared by every stage; each lives in a file of its own."""
