# SPDX-License-Identifier: GPL-2.0-only
#
# Output of a build, as the kernel's: V=0, the default, prints "CC file"; V=1 prints the commands;
# make -s prints neither.  In a recipe: $(call quiet,CC)$(CC) ...
V ?= 0
quiet-top := $(realpath $(dir $(lastword $(MAKEFILE_LIST)))..)/
ifneq ($(V),0)
quiet =
else ifneq ($(findstring s,$(firstword -$(MAKEFLAGS))),)
quiet = @
else
quiet = @printf '  %-7s %s\n' '$(1)' '$(patsubst $(quiet-top)%,%,$(abspath $@))';
endif
