#!/usr/bin/env bash
# Runs the checks that need a GPU: run [ARGUMENTS of gpu_check]; the last lines say what failed. With sections only
# those; else all of them, the models', and the small cases under compute-sanitizer where it is installed. Programs are
# in $EDGE_INFER_BIN, or in bin/ beside this file. 77: there is no CUDA device.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=${EDGE_INFER_BIN:-$here/bin}
[ -d "$here/lib" ] && export LD_LIBRARY_PATH=$here/lib:${LD_LIBRARY_PATH:-}
[ -d "$here/model" ] && export EDGE_INFER_TEST_MODEL=$here/model
[ -d "$here/tests" ] && cd "$here"  # a folder that was packed
"$bin/gpu_check" "$@"
status=$?
case " $* " in
  *" attention "*|*" gemm "*|*" golden "*|*" conformance "*|*" random "*|*" program "*|*" tune "*|*" gemm-speed "*) exit $status ;;
esac
[ $status = 77 ] && exit 77
[ $status = 2 ] && exit 2  # usage
"$bin/gpu_model_check" --gtest_brief=1 || status=1
if sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2> /dev/null); then
  # memcheck sees accesses outside of all memory; racecheck threads of a block that do not wait for each other. Under
  # either a kernel takes many times its time.
  found='^========= (Invalid|(Error|Warning): (Race|Potential))'
  for check in "memcheck attention" "memcheck gemm" "memcheck golden" "racecheck attention" "racecheck gemm"; do
    read -r tool section <<< "$check"
    options="--patience 120" seconds=180
    [ "$tool" = memcheck ] || { options="--every 12 --patience 300"; seconds=320; }
    # shellcheck disable=SC2086
    report=$(timeout -k 5 $seconds "$sanitizer" --tool "$tool" --error-exitcode 9 \
      "$bin/gpu_check" --sample --quiet $options "$section" 2>&1)
    code=$?
    late=
    case $code in
      0) echo "$tool $section: no errors in $(grep -o '[0-9]* passed' <<< "$report" | tail -1)"; continue ;;
      124|137) late="within $seconds s" ;;
      *) late=$(grep -oP 'FAIL \K.*: no end after \d+ s' <<< "$report") ;;
    esac
    if [ -n "$late" ] && ! grep -qE "$found" <<< "$report"; then
      echo "$tool $section: NOT FINISHED ($late), nothing found until then"
    else
      echo "$report" | tail -40; echo "$tool $section: FAILED"; status=1
    fi
  done
else
  echo "compute-sanitizer is not installed: its checks are left out"
fi
exit $status
