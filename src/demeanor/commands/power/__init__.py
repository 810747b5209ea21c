"""`demeanor power`: tell how many trials it takes to see a drop, and what each rule misses."""
