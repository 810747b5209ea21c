#!/bin/sh
set -e
cp /solution/wordcount.py /solution/test_wordcount.py /app/
cd /app
python3 -m unittest
