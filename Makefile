# Everything here needs only make, git and Python 3.11 or later.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

# pytest runs in several processes: one BLAS thread each, or they fight for the cores.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help setup test check docs demo browser screenshot lock clean

help:  ## Show the targets
	@awk -F ':.*##' '/^[a-z]+:.*##/ { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED)  ## Build .venv with the locked versions and the project, once

$(INSTALLED): pyproject.toml requirements.lock
	@command -v $(PYTHON) >/dev/null || { \
	  echo "error: $(PYTHON) not found: install Python 3.11 or later, or name it: make setup PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: omhash needs Python 3.11 or later and $(PYTHON) is older: name another: make setup PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "error: $(PYTHON) cannot make virtual environments: install its venv package (Debian, Ubuntu: apt install python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

test: setup  ## Run every test
	$(ONE_THREAD) $(BIN)/python -m pytest --numprocesses logical --maxprocesses 4

check: setup  ## Check style, types and layering
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: setup  ## Build the documentation into docs/_build/html
	rm -rf docs/_build
	$(BIN)/python -m sphinx -W --keep-going --quiet docs docs/_build/html

demo: setup  ## Stream the bundled emoji and serve a page to search them (SERVE=0: do not serve)
	$(BIN)/omhash demo $(if $(filter 0,$(SERVE)),--no-serve)

# Without them the page's tests are skipped, and say so.
browser:  ## Install Chromium and npm, for the tests of the page, where they are missing (Debian, as root)
	@missing=; for program in chromium chromedriver npm; do \
	  command -v $$program >/dev/null || missing="$$missing $$program"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing$$missing"; \
	  export DEBIAN_FRONTEND=noninteractive; \
	  { apt-get -qq update && apt-get -qq install --yes --no-install-recommends \
	      chromium chromium-driver fonts-dejavu-core npm; } >/dev/null && exit 0; \
	fi; \
	echo "note: without$$missing, tests of the page are skipped (Debian: apt install chromium chromium-driver npm)" >&2

screenshot: setup  ## Take the README's picture of the page again, as the tests see it
	$(BIN)/python -m pytest tests/service/test_page.py -k words_find
	cp tests/_screenshots/page.webp docs/page.webp

# The extra encoders stays out of the lock: PyTorch would make every setup gigabytes larger.
lock:  ## Pin the newest allowed versions in requirements.lock (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --upgrade \
	  --extra dask --extra faiss --extra milvus --extra plots --group dev --group docs --custom-compile-command "make lock" \
	  --output-file requirements.lock pyproject.toml

clean:  ## Remove the environment and everything that was built
	rm -rf .venv build dist docs/_build .coverage coverage.xml
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
