#!/usr/bin/env bash
# clang-tidy over the sources named, or over those that differ from main's last commit, or (--all) over all.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh debug --target help > /dev/null
if [ "${1:-}" = --all ]; then
  files=$(git ls-files 'runtime/*.cpp' 'compiler/*.cpp' 'models/*.cpp' 'apps/*.cpp' 'backends/*.cpp' | grep -v _isa.cpp)
elif [ $# -gt 0 ]; then
  files=$*
else
  files=$(git diff --name-only HEAD -- '*.cpp'; git ls-files -o --exclude-standard '*.cpp')
fi
[ -z "$files" ] || echo "$files" | xargs -P 2 -n 4 clang-tidy-19 -p build/debug --quiet
