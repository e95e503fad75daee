# SPDX-License-Identifier: GPL-2.0-only
#
# `make help` lists the targets.  All output is below build/.  A target that needs packages installs
# them first (scripts/setup).

KERNEL	?= distro
WHERE	?= vm
SUITES	?=
PREFIX	?= /usr/local
DESTDIR	?=

BUILD	:= $(CURDIR)/build
DATA	:= $(BUILD)/data/digits.csv

MAKEFLAGS += --no-print-directory

all: modules lib tools examples

help:
	@echo "make            module for the distribution's 6.12 kernel, library, tools, examples"
	@echo "make demo       train on real data with 4 ranks in the test machine (WHERE=host: on this one)"
	@echo "make check      the tests; SUITES='unit style' for some (selftests/suites lists them)"
	@echo "make check-all  also the longer tests, mainly with KASAN, lockdep and kmemleak"
	@echo "make check-kernels  build against the newest kernel headers of the distribution's suites"
	@echo "make bench      compare with Gloo, Open MPI and MPICH; KERNEL=uml|uml-debug|distro|host RANKS= SIZES= ROUNDS= ..."
	@echo "make style      layering, checkpatch, sparse, warnings"
	@echo "make docs       HTML of Documentation/, into build/docs/"
	@echo "make mpi        component of Open MPI, for the installed one, into build/mpi/"
	@echo "make mpich      library to preload for MPICH, into build/mpich/"
	@echo "make python     wheel of the Python package, into build/python/"
	@echo "make deb        Debian packages, into build/deb/"
	@echo "make modules    KERNEL=distro|rt|uml|uml-debug|host, into build/kmod-KERNEL/"
	@echo "make lib tools examples selftests; build/selftests/p2p_test or build/bin/... for one of them"
	@echo "make install    module for the running kernel, library, tools (PREFIX= DESTDIR=)"
	@echo "make clean"

setup-build:
	@scripts/setup build

modules:
	@scripts/build-module $(KERNEL)

lib: setup-build
	@$(MAKE) -C libcollective OUT=$(BUILD)/lib
	@$(MAKE) -C libcollective-admin OUT=$(BUILD)/lib

tools: lib
	@$(MAKE) -C tools OUT=$(BUILD)/bin LIB=$(BUILD)/lib

examples: lib
	@$(MAKE) -C examples OUT=$(BUILD)/examples LIB=$(BUILD)/lib

selftests: lib
	@$(MAKE) -C selftests OUT=$(BUILD)/selftests LIB=$(BUILD)/lib

# One of these files, as in `make build/selftests/p2p_test`.
build/bin/%: tools ;

build/examples/%: examples ;

build/selftests/%: lib
	@$(MAKE) -C selftests OUT=$(BUILD)/selftests LIB=$(BUILD)/lib $(BUILD)/$(@:build/%=%)

# Not part of `all`: it needs Open MPI's headers.
mpi: lib
	@scripts/setup mpi
	@$(MAKE) -C bindings/mpi/openmpi OUT=$(BUILD)/mpi LIB=$(BUILD)/lib

mpich: lib
	@scripts/setup mpich
	@$(MAKE) -C bindings/mpi/mpich OUT=$(BUILD)/mpich LIB=$(BUILD)/lib

# Built in a copy: setuptools writes into its source.
python:
	@scripts/setup python
	@rm -rf $(BUILD)/python && mkdir -p $(BUILD)/python && cp -r bindings/python $(BUILD)/python/source
	@cd $(BUILD)/python && /usr/bin/python3 -m pip wheel -q --no-index --no-deps --no-build-isolation -w . ./source

mpi-tests: mpi
	@scripts/setup mpi-tests
	@$(MAKE) -C selftests/mpi OUT=$(BUILD)/mpi LIB=$(BUILD)/lib

mpich-tests: mpich
	@scripts/setup mpich-tests
	@$(MAKE) -C selftests/mpi MPI=mpich OUT=$(BUILD)/mpich LIB=$(BUILD)/lib

# The UCI handwritten digits, from a package that is downloaded but not installed.
$(DATA):
	@examples/fetch-digits $@

demo: lib tools examples $(DATA)
	@examples/run-demo $(WHERE) $(DATA)

check:
	@selftests/run-suites $(SUITES)

check-all:
	@selftests/run-suites --all

check-kernels:
	@scripts/check-kernels

# User-Mode Linux, unless KERNEL is set; results are in build/bench/.
bench:
	@KERNEL=$(if $(filter file,$(origin KERNEL)),uml,$(KERNEL)) selftests/bench/bench

style:
	@scripts/style

deb:
	@scripts/make-deb

docs:
	@scripts/docs

# A distribution's headers have no key to sign modules with: without the setting each is an error that is ignored.
install: RUNNING = $(shell uname -r)
install: KDIR = /lib/modules/$(RUNNING)/build
install: all
	@$(MAKE) modules KERNEL=host
	$(MAKE) -C $(KDIR) M=$(BUILD)/kmod-host $(if $(DESTDIR),INSTALL_MOD_PATH=$(DESTDIR)) \
		$(if $(wildcard $(KDIR)/certs/signing_key.x509),,CONFIG_MODULE_SIG_ALL=) modules_install
	$(if $(DESTDIR),,depmod $(RUNNING))
	$(MAKE) -C libcollective install OUT=$(BUILD)/lib PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)
	$(MAKE) -C libcollective-admin install OUT=$(BUILD)/lib PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)
	$(MAKE) -C tools install OUT=$(BUILD)/bin LIB=$(BUILD)/lib PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)
	install -D -m 0644 packaging/udev/60-collective.rules \
		$(DESTDIR)/usr/lib/udev/rules.d/60-collective.rules
	install -D -m 0644 packaging/modules-load.d/collective.conf \
		$(DESTDIR)/usr/lib/modules-load.d/collective.conf
	install -D -m 0644 packaging/sysusers.d/collective.conf \
		$(DESTDIR)/usr/lib/sysusers.d/collective.conf
	install -D -m 0644 packaging/limits.d/collective.conf \
		$(DESTDIR)/etc/security/limits.d/collective.conf
	install -D -m 0644 -t $(DESTDIR)/usr/lib/systemd/system packaging/systemd/collective-metrics.service \
		packaging/systemd/collective-metrics.timer

clean:
	rm -rf $(BUILD)

.PHONY: all help deb setup-build modules lib tools examples selftests mpi mpi-tests mpich mpich-tests python demo check check-all check-kernels bench style docs install clean
