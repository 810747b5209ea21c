#!/bin/sh
set -e
grep -c '' /app/notes.txt > /app/count.txt
