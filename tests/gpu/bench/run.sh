#!/usr/bin/env bash
# Figures of models on the first GPU: run.sh [MODEL_DIR...]; of each gpu_bench's, PyTorch's where python3 has it with
# CUDA, and the warm start's. Programs are in $EDGE_INFER_BIN, or in bin/ beside this file. 77: there is no CUDA device.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=${EDGE_INFER_BIN:-$here/bin}
ours=(env "LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")  # torch does not see the libraries of a folder that was packed
[ -d "$here/lib" ] || ours=()
[ $# -gt 0 ] || set -- "${EDGE_INFER_TEST_MODEL:-$here/model}"
torch=
if python3 -c 'import safetensors, sys, torch; sys.exit(not torch.cuda.is_available())' 2> /dev/null; then torch=yes; fi
status=0
for model in "$@"; do
  "${ours[@]}" "$bin/gpu_bench" "$model"
  code=$?
  [ $code = 77 ] && exit 77
  [ $code = 0 ] || status=1
  if [ -n "$torch" ]; then
    python3 "$here/torch_bench.py" "$model" || { echo "torch_bench.py $model: FAILED"; status=1; }
  fi
  "${ours[@]}" python3 "$here/start_bench.py" "$model" --bin "$bin/edge-infer" || status=1
done
[ -n "$torch" ] || echo "python3 has no torch with CUDA and safetensors: its rows are left out"
exit $status
