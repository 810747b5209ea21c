"""`demeanor power`: how many trials it takes to detect a drop, and the error rates of each rule."""
