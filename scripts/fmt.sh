#!/usr/bin/env bash
# Formats all sources; --check only reports.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(-i)
[ "${1:-}" = --check ] && mode=(--dry-run -Werror)
git ls-files -co --exclude-standard '*.h' '*.hpp' '*.cpp' '*.c' | xargs -r clang-format-19 "${mode[@]}"
