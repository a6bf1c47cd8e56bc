# make demo   set up and run the main job: evaluate the bundled suite
# make test   set up and run every check: formatting, types, tests
# make clean  remove what these made

VENV ?= .venv
# Upstream's data, where there is some: the real tasks beside the bundled ones.
INTERCODE_DATA := $(abspath $(or $(INTERCODE_DATA),$(wildcard ../shared/data)))
export INTERCODE_DATA

.PHONY: demo test check clean

demo: $(VENV)/.installed
	@echo; echo "== which sandboxes work here"; $(VENV)/bin/intercode doctor
	@echo; echo "== the bundled suite, solved by its own golds"
	@$(VENV)/bin/intercode eval bundled --agent gold --out $$(mktemp -d)/run
	@echo; echo "== and by an agent that does nothing: the floor"
	@$(VENV)/bin/intercode eval bundled --agent noop --out $$(mktemp -d)/run
	@if [ -n "$(INTERCODE_DATA)" ]; then \
	  echo; echo "== the 200 real NL2Bash tasks, with the paper's semantics"; \
	  $(VENV)/bin/intercode eval nl2bash --env Bash-v1 --agent gold --out $$(mktemp -d)/run; \
	fi
	@echo; echo "Now be the agent yourself:  $(VENV)/bin/intercode play bundled"

test: $(VENV)/.installed-dev
	@scripts/need bubblewrap docker mmdebstrap git gdb strace e2fsprogs mariadb-server postgresql \
	  nodejs ruby perl lua5.4 g++
	@VENV=$(VENV) scripts/test

check: $(VENV)/.installed-dev
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

$(VENV)/bin/python:
	scripts/venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/bin/python pyproject.toml
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
