#!/usr/bin/env bash
# Build the core with AddressSanitizer and UBSan into a folder of its own and run the tests of its boundary with it.
#   bash tools/sanitise.sh [pytest arguments]
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHON=$PWD/.venv/bin/python
FOLDER=$(mktemp -d)
trap 'rm -rf "$FOLDER"' EXIT
cmake -S src/core -B "$FOLDER/build" -DCMAKE_BUILD_TYPE=Debug -DPython_EXECUTABLE="$PYTHON" \
  -Dnanobind_DIR="$("$PYTHON" -m nanobind --cmake_dir)" \
  -DCMAKE_CXX_FLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined -D_GLIBCXX_ASSERTIONS -DORDBRIDGE_PLAIN -g1" >/dev/null
cmake --build "$FOLDER/build" -j 2 >/dev/null
# a package with the sanitised module in it, found before the installed one
mkdir "$FOLDER/path"
cp -r src/ordbridge "$FOLDER/path/ordbridge"
cp "$FOLDER"/build/_core*.so "$FOLDER/path/ordbridge/"
cat > "$FOLDER/path/run.py" <<'CODE'
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
sys.path.insert(0, sys.argv.pop(1))
import ordbridge._core, pytest
print("the core is", ordbridge._core.__file__)
sys.exit(pytest.main(sys.argv[1:]))
CODE
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
export LD_PRELOAD="$(${CXX:-g++} -print-file-name=libasan.so):$(${CXX:-g++} -print-file-name=libubsan.so):$(${CXX:-g++} -print-file-name=libstdc++.so)"
"$PYTHON" "$FOLDER/path/run.py" "$FOLDER/path" -q -p no:cacheprovider "${@:-tests/fast/test_core_boundary.py}"
