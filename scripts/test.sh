#!/usr/bin/env bash
# Builds and runs the tests. --all: also layers, formatting, ASan+UBSan, TSan and the fuzzers (what CI runs).
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh release
export EDGE_INFER_TEST_MODEL=${EDGE_INFER_TEST_MODEL:-$(scripts/model.sh)}
ctest --test-dir build/release --output-on-failure -j 2
