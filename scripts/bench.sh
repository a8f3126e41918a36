#!/usr/bin/env bash
# Benchmarks as ratios against named peers, in one interleaved run. bench.sh [peers|tokenizer|kernels|start|memory|cache|guards|all] [OPTIONS]
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:-all}
[ $# -gt 0 ] && shift
scripts/build.sh release > /dev/null
model=$(scripts/model.sh)
venv=.cache/venv-bench
if [ ! -f $venv/ready ]; then
  python3 -m venv $venv
  $venv/bin/pip install -q numpy onnx onnxruntime safetensors tokenizers fastembed
  $venv/bin/pip install -q openvino || echo "OpenVINO cannot be installed: compared with ONNX Runtime only" >&2
  touch $venv/ready
fi
peers() { $venv/bin/python tests/bench/peers_bench.py --model "$model" --lib build/release/lib/libedge_infer.so "$@"; }
tokenizer() { $venv/bin/python tests/bench/tokenizer_bench.py --bin build/release/bin --model "$model" "$@"; }
kernels() { build/release/bin/kernels_bench "$@"; }
cache() { build/release/bin/cache_bench "$@"; }
guards() { build/release/bin/guards_bench; }
memory() { build/release/bin/memory_bench "$model"; }
start() { python3 tests/bench/start_bench.py "$model" "$@"; }
case "$name" in
  peers|tokenizer|kernels|start|memory|cache|guards) "$name" "$@" ;;
  all) kernels; tokenizer; start; cache; guards; memory; peers ;;
  *) echo "usage: ./dev bench [peers|tokenizer|kernels|start|memory|cache|guards|all]" >&2; exit 2 ;;
esac
