#!/bin/sh
# Removes from a folder of installed packages what no process of an image loads: sh trim.sh SITE-PACKAGES
set -eu
cd "$1"
# Of 400 services that botocore describes the store uses one, and credentials come through four.
find botocore/data -mindepth 1 -maxdepth 1 -type d \
    ! -name s3 ! -name sts ! -name sso ! -name sso-oidc ! -name signin -exec rm -r {} +
rm -r lxml/includes lxml/isoschematron lxml/objectify*
find lxml -name '*.p[yx][xi]' -delete
# Tests of packages, and what compiles extensions of NumPy.
find . -type d \( -name tests -o -path './sympy/*/benchmarks' \) -prune -exec rm -r {} +
rm -rf numpy/distutils numpy/f2py numpy/_core/include numpy/_core/lib numpy/random/lib
# A shell of Celery's, which nobody starts, and the grammars of languages other than Python.
rm -rf click_repl* prompt_toolkit* wcwidth*
find pygments/lexers -name '*.py' ! -name __init__.py ! -name _mapping.py ! -name python.py -delete
# Tools that change models, and ONNX Runtime for programs in C: the module for Python holds its own.
rm -rf onnxruntime/quantization onnxruntime/tools onnxruntime/transformers onnxruntime/capi/libonnxruntime.so*
# PyTorch's own tests, and what compiles extensions of it.
if [ -d torch ]; then
    rm -rf torch/include torch/share torch/test
    find torch/bin -type f ! -name torch_shm_manager -delete
    rm -f torch/lib/libtorchbind_test.so torch/lib/libjitbackend_test.so torch/lib/libbackend_with_compiler.so
    strip --strip-unneeded torch/lib/libtorch_cpu.so torch/lib/libtorch_python.so
fi
find . -name '*.pyi' -delete
# Libraries that wheels bundle (*.libs) do not load any more once stripped.
find . -name '*.so' -not -path '*.libs/*' -not -path './torch/*' -exec strip --strip-unneeded {} +
