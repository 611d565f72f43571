# SPDX-License-Identifier: GPL-2.0-or-later
# The front door. Everything else is meson and ninja behind ./configure.

BUILD ?= build
TESTFLAGS ?=
export BUILD

.PHONY: help build run check check-guests check-asan check-tsan bench bench-quick install install-deps clean

help:
	@echo 'make build        configure if needed, and build into $(BUILD)/'
	@echo 'make run          boot a guest with a 4-queue disk on 2 IOThreads, show who served what'
	@echo 'make check        all tests but those with Linux: layers, style, unit, qtest, bare guest, libvirt'
	@echo 'make check-guests only the tests with Linux guests (tests/functional)'
	@echo 'make check-asan   unit and qtest tests under AddressSanitizer and UBSan'
	@echo 'make check-tsan   unit and qtest tests under ThreadSanitizer'
	@echo 'make bench        a bare guest on KVM, beside the reference if installed: all cases, a chart'
	@echo 'make bench-quick  the same with few cases, in under 2 minutes'
	@echo 'make install      install below the prefix given to ./configure'
	@echo 'make install-deps packages needed to build and test (Debian)'
	@echo 'make clean        remove all build directories'
	@echo
	@echo './configure --help lists the build options.'

install-deps:
	@scripts/install-deps

$(BUILD)/build.ninja:
	./configure --build-dir=$(BUILD)

build: $(BUILD)/build.ninja
	@ninja -C $(BUILD) qemu-system-x86_64

run: install-deps build
	@python3 tests/bench/demo.py --binary $(BUILD)/qemu-system-x86_64 --directory $(BUILD)/run

check: install-deps $(BUILD)/build.ninja
	@scripts/install-deps --optional tools libvirt rig reference
	@ninja -C $(BUILD)
	@scripts/check-layers
	@scripts/check-style
	@scripts/run-tests $(BUILD) $(TESTFLAGS)

check-guests: install-deps build
	@scripts/install-deps --optional libvirt rig reference
	@scripts/run-tests $(BUILD) --suite guests $(TESTFLAGS)

build-asan/build.ninja:
	./configure --enable-asan --build-dir=build-asan

build-tsan/build.ninja:
	./configure --enable-tsan --build-dir=build-tsan

check-asan: install-deps build-asan/build.ninja
	@ninja -C build-asan
	@scripts/run-tests build-asan $(TESTFLAGS)

check-tsan: install-deps build-tsan/build.ninja
	@ninja -C build-tsan
	@scripts/run-tests build-tsan $(TESTFLAGS)

# Beside the reference where it is installed; ratios of one run are what counts, not seconds.
# BENCHFLAGS chooses: -c CASE, -s SET, -n ROUNDS, -t SECONDS (tests/bench/compare.py --help).
REFERENCE ?= $(shell command -v /usr/bin/qemu-system-x86_64)
bench: BENCHSET = --all
bench-quick: BENCHSET = --quick
bench bench-quick: install-deps build
	@scripts/install-deps --optional tools
	@$(if $(REFERENCE),,echo 'No reference to compare with (scripts/install-reference installs it)')
	@python3 tests/bench/compare.py $(BENCHSET) -o $(BUILD)/bench $(BENCHFLAGS) \
	    $(BUILD)/qemu-system-x86_64 $(REFERENCE)
	@$(if $(filter bench,$@),python3 tests/bench/start.py -o $(BUILD)/bench $(BUILD)/qemu-system-x86_64 $(REFERENCE))

install: build
	@meson install -C $(BUILD) --no-rebuild

clean:
	@rm -rf build build-asan build-tsan build-fuzz
