#!/bin/sh
set -e
cp /solution/ledger.py /app/ledger.py
cd /app
python3 -m unittest
