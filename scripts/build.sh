#!/usr/bin/env bash
# Configures and builds one preset.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
[ $# -gt 0 ] && shift
scripts/setup.sh
# Clones and worktrees share the compiler cache.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
cmake --preset "$preset" -DCMAKE_MESSAGE_LOG_LEVEL=WARNING > /dev/null
cmake --build "build/$preset" "$@"
