#!/bin/sh
# Removes from a folder of installed packages what no process of an image loads: sh trim.sh SITE-PACKAGES
set -eu
cd "$1"
# Of 400 services that botocore describes the store uses one, and credentials come through four.
find botocore/data -mindepth 1 -maxdepth 1 -type d \
    ! -name s3 ! -name sts ! -name sso ! -name sso-oidc ! -name signin -exec rm -r {} +
rm -r lxml/includes lxml/isoschematron
find lxml -name '*.p[yx][xi]' -delete
find numpy -type d -name tests -prune -exec rm -r {} +
# PyTorch's own tests, and what compiles extensions of it.
if [ -d torch ]; then
    rm -rf torch/include torch/share torch/test
    find torch/bin -type f ! -name torch_shm_manager -delete
fi
find . -name '*.pyi' -delete
# Libraries that wheels bundle (*.libs) do not load any more once stripped.
find . -name '*.so' -not -path '*.libs/*' -not -path './torch/*' -exec strip --strip-unneeded {} +
