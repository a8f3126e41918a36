#!/usr/bin/env bash
# Configures and builds one preset.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
[ $# -gt 0 ] && shift
scripts/setup.sh
cmake --preset "$preset" -DCMAKE_MESSAGE_LOG_LEVEL=WARNING > /dev/null
cmake --build "build/$preset" "$@"
