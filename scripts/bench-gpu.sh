#!/usr/bin/env bash
# Figures of models on the first GPU, PyTorch's beside them where it is installed, and the warm start's: bench-gpu.sh
# [MODEL_DIR...]; without one, of the model of the tests (docs/perf/gpu.md). 77: there is no CUDA device.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
cmake --preset release -DCMAKE_MESSAGE_LOG_LEVEL=WARNING > /dev/null
cmake --build build/release --target gpu_bench edge-infer
[ $# -gt 0 ] || set -- "${EDGE_INFER_TEST_MODEL:-$(scripts/model.sh)}"
EDGE_INFER_BIN=$PWD/build/release/bin exec tests/gpu/bench/run.sh "$@"
