#!/usr/bin/env bash
# Checks the include arrows between folders.
exec python3 "$(dirname "$0")/layers.py"
