#!/bin/sh
# Narrates `book.txt` with a narrator and three characters, as an audiobook with two chapters.
set -eu
rhapsode narrate "$(dirname "$0")/book.txt" --output book.m4b --title "Two Fables" --voice alloy \
    --speaker WOLF=onyx --speaker LAMB=nova --speaker FOX=echo
