#!/usr/bin/env bash
# Figures of models on the first GPU: bench-gpu.sh [MODEL_DIR...]; without one, of the model of the tests (docs/perf/gpu.md).
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
cmake --preset release -DCMAKE_MESSAGE_LOG_LEVEL=WARNING > /dev/null
cmake --build build/release --target gpu_bench
[ $# -gt 0 ] || set -- "${EDGE_INFER_TEST_MODEL:-$(scripts/model.sh)}"
for model in "$@"; do build/release/bin/gpu_bench "$model"; done
