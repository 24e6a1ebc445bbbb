# SPDX-License-Identifier: MIT
# Builds, tests, demonstrates and installs nnaccel; `make help` lists the targets. Source files are
# found by their folder, so a new source file needs no change of the Makefile.

# The architecture to build for: amd64 or arm64. The command scripts/setup --arm64 installs the
# tools for a cross build.
MACHINE	:= $(if $(filter aarch64,$(shell uname -m)),arm64,amd64)
ARCH	?= $(MACHINE)
override ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,amd64,$(ARCH)))
ifeq ($(filter amd64 arm64,$(ARCH)),)
$(error ARCH is amd64 or arm64, not $(ARCH))
endif
cross	:= $(filter-out $(MACHINE),$(ARCH))
ifneq ($(filter amd64,$(cross)),)
$(error Nothing here builds for $(ARCH) on $(MACHINE))
endif
setup	:= scripts/setup $(if $(cross),--arm64)

BUILD	?= build$(cross:%=/%)
# This variable sets nnaccel's version; scripts/deb checks that debian/changelog has the same
# version.
VERSION	:= 0.3.0
# The suffix 16k means a kernel with pages of 16 KiB.
KERNELS	:= 6.1 6.12 $(if $(cross),6.12-16k,newest) debug
KERNEL	?= $(firstword $(KERNELS))

PREFIX	?= /usr/local
# make separates names by blanks, so a path with a blank would be several paths.
ifneq ($(words x$(CURDIR)$(BUILD)$(PREFIX)$(DESTDIR)),1)
$(error A path must not have a blank: $(CURDIR), BUILD=$(BUILD), PREFIX=$(PREFIX), DESTDIR=$(DESTDIR))
endif
LIBDIR	?= $(PREFIX)/lib
# The folder of plug-ins that inference runtimes load by their path.
PLUGINDIR ?= $(LIBDIR)
KDIR	?= /lib/modules/$(shell uname -r)/build

ifneq ($(cross),)
export ARCH
sysroot	:= $(shell scripts/sysroot --cached)
ifeq ($(origin CC),default)
CC	:= aarch64-linux-gnu-gcc
endif
override CC := $(CC) $(if $(findstring clang,$(CC)),--target=aarch64-linux-gnu) --sysroot=$(sysroot)
AR	:= aarch64-linux-gnu-ar
endif
CC	?= cc
AR	?= ar
# If the build folder was built with -Werror, for example by the tests, CFLAGS keeps -Werror, so
# that make does not compile all files again. The option -g1 records names and lines, and compiles
# in three quarters of the time of -g.
ifeq ($(origin CFLAGS),undefined)
CFLAGS	:= $(strip -O2 -g1 $(findstring -Werror,$(file <$(BUILD)/obj/flags)))
endif
CLANG	?= clang
FUZZ_SECONDS ?= 60
STRESS_SECONDS ?= 60
MINUTES	?= 20

# The folders of the engine's plug-ins, and of the lists of programs that may use them.
EXTENSIONS_DIR ?= /usr/lib/nnaccel/extensions
CONFIG_DIR ?= /etc/nnaccel

warnings := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
gen	:= $(BUILD)/gen
includes := -Iinclude/uapi -Iuser/include -Iuser -I$(gen)
base	:= -std=gnu11 $(warnings) -ffp-contract=off $(includes) \
	-DNN_EXTENSIONS_DIR=\"$(EXTENSIONS_DIR)\" -DNN_CONFIG_DIR=\"$(CONFIG_DIR)\"
ifneq ($(SAN),)
san	:= -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
# With -O2, sanitizers would make up half of the compile time.
level	:= -O1
endif
# The code reads hostile input (see security.rst), so it is hardened. Fortified calls work only in
# optimised code, and would hide faults from a sanitizer.
machine	:= $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
harden	:= -fstack-protector-strong \
	$(if $(and $(findstring clang,$(CC)),$(filter aarch64,$(machine))),,-fstack-clash-protection) \
	$(if $(filter x86_64 i%86,$(machine)),-fcf-protection=full) \
	$(if $(filter aarch64,$(machine)),-mbranch-protection=standard)
fortify	= $(if $(san),,$(if $(filter -O -O1 -O2 -O3 -Os -Og,$(CFLAGS)),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3))
cflags	= $(base) -fPIC -fvisibility=hidden -pthread $(harden) $(fortify) $(san) $(CFLAGS) $(types) $(level) $(vectors)
# The libraries' threads continue after dlclose(), so the code that they run must stay loaded.
so_only	:= -Wl,-z,nodelete
ldflags	= -pthread $(san) -Wl,-z,defs -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack $(LDFLAGS)
# With sanitizers, a library has undefined symbols, which the program that loads the library
# resolves.
ifneq ($(SAN),)
soflags	= $(filter-out -Wl$(comma)-z$(comma)defs,$(ldflags)) $(so_only)
else
soflags	= $(ldflags) $(so_only)
endif
comma	:= ,

obj	:= $(BUILD)/obj
fuzz_obj := $(BUILD)/fuzz/obj
# $(line) prints a line for each built file before its commands. With V=1 make shows the commands
# instead, and with -s nothing.
is_silent = $(findstring s,$(firstword -$(MAKEFLAGS)))
line	= $(if $(is_silent),,printf '  %-5s %s\n' $(1) $(@:$(BUILD)/%=%);)
short	= $(if $(V),,@$(line))
# $(show) is the same as $(line) for recipes that begin with "@" and run several commands in one
# shell.
show	= $(if $(V),$(if $(is_silent),,set -x;),$(line))

objects	= $(patsubst %.c,$(obj)/%.o,$(wildcard $(1)))
archive	= $(patsubst %,$(BUILD)/lib/libnn%.a,$(foreach a,$(1),$(if $(wildcard user/$(a)/*.c),$(a))))
rpath	= -Wl,-rpath,'$$ORIGIN$(1)'

model	:= $(call objects,user/model/*.c)
ops	:= $(call objects,user/ops/*.c)
# gcc must vectorise the loops of operations, as clang does with -O2.
$(ops): private vectors := $(if $(san)$(findstring clang,$(CC)),,-ftree-vectorize -fvect-cost-model=dynamic)
plan	:= $(call objects,user/plan/*.c user/plan/*/*.c)
ring	:= $(call objects,user/ring/*.c)
hal	:= $(if $(wildcard user/hal/*.map),$(call objects,user/hal/*.c user/base/packet.c))
hwbuffer := $(if $(wildcard user/hwbuffer/*.map),$(call objects,user/hwbuffer/*.c))
runtime	:= $(if $(wildcard user/runtime/*.map),$(call objects,user/runtime/*.c user/base/allowlist.c))
lower	:= user/clients/*.c user/clients/lower/*.c
tflite	:= $(call objects,$(lower) user/clients/tflite/*.c user/clients/tflite/*/*.c)
onnx	:= $(call objects,$(lower) user/clients/onnxruntime/*.c user/clients/onnxruntime/*/*.c)
# The following objects make models for tests and benches.
makers	:= $(call objects,user/vectors/*.c)
# The objects of the kit, and of the three programs of nnacceld. In nnacceld, only the worker
# computes, and only the keeper has a database.
kit	:= $(call objects,user/base/*.c user/kit/*/*.c)
broker	:= $(call objects,user/engine/broker/*.c)
worker	:= $(call objects,user/engine/worker/*.c)
keeper	:= $(call objects,user/engine/keeper/*.c)
# scripts/check-abi compares the types that the libraries export, so these objects need -g.
$(model) $(hal) $(hwbuffer) $(runtime) $(kit): private types := $(if $(filter -g1,$(CFLAGS)),-g)
# The engine on Vulkan is built if Vulkan's headers and the shader compiler glslang are installed.
vulkan_header := $(wildcard $(sysroot)/usr/include/vulkan/vulkan.h)
glslang	:= $(shell command -v glslangValidator)
shaders	:= $(patsubst user/vulkan/shaders/%.comp,$(obj)/shaders/%.o,$(wildcard user/vulkan/shaders/*.comp))
vulkan	:= $(if $(and $(vulkan_header),$(glslang)),$(call objects,user/vulkan/*.c) $(shaders))
vulkan_core := $(filter-out %/vulkan/main.o %/vulkan/engine.o %/vulkan/import.o,$(vulkan))
worker_libs := -lseccomp -lcrypto -lm -ldl
tools	:= $(filter-out %/train_digits.o,$(call objects,user/base/*.c user/kit/cache/message.c \
		user/tools/*.c user/tools/*/*.c))
demo	:= $(filter $(obj)/user/tools/demo/% %/camera/glyphs.o %/camera/reader.o,$(tools))

archives := $(call archive,plan ops ring model)
libhal	:= $(if $(hal),$(BUILD)/lib/libnnaccel.so)
libhw	:= $(if $(hwbuffer),$(BUILD)/lib/libnativewindow.so)
libnn	:= $(if $(runtime),$(BUILD)/lib/libneuralnetworks.so)
libtflite := $(BUILD)/lib/libnnaccel_tflite.so
libonnx	:= $(BUILD)/lib/libnnaccel_onnxruntime.so
# The library that nnaccel run loads into programs.
librun	:= $(BUILD)/lib/libnnaccel_run.so
run_python := $(BUILD)/lib/nnaccel-python/sitecustomize.py
libengine := $(BUILD)/lib/libnnaccel-engine.so
libdemo	:= $(if $(demo),$(BUILD)/lib/libdemo.a)
# The libraries, sorted by the major version of their interface, which is a part of their names (see
# stability.rst).
major_1	:= $(libhw) $(libnn)
major_2	:= $(libengine) $(libhal)
versioned := $(major_1:%=%.1) $(major_2:%=%.2)
programs := $(patsubst %,$(BUILD)/sbin/%,nnacceld nnaccel-worker nnaccel-keeper $(if $(vulkan),nnaccel-vulkan)) $(if $(tools),$(BUILD)/bin/nnaccel)
trainer	:= $(if $(demo),$(BUILD)/bin/train_digits)
examples := $(patsubst user/examples/%.c,$(BUILD)/examples/%,$(wildcard user/examples/*.c))
# The bench uring.c is not a separate program, but a part of the bench memory.
benches	:= $(patsubst user/bench/%.c,$(BUILD)/bench-bin/%,$(filter-out %/uring.c,$(wildcard user/bench/*.c)))
test_src := $(filter-out $(if $(vulkan),,%/vulkan_test.c %/vulkan_lower_test.c),$(wildcard user/tests/*_test.c))
tests	:= $(patsubst user/tests/%.c,$(BUILD)/tests/%,$(test_src))
test_lib := $(patsubst %.c,$(obj)/%.o,$(filter-out %_test.c,$(wildcard user/tests/*.c)) user/vectors/random.c)
# The test programs that `make test` builds before it starts the VMs that run the programs.
vm_tests := $(filter $(BUILD)/tests/hal_% %/runtime_hardware_test %/runtime_caching_test %/runtime_extension_test,$(tests))
replays	:= $(patsubst user/tests/fuzz/corpus/%,$(BUILD)/replay/%_fuzz,$(wildcard user/tests/fuzz/corpus/*))
fuzzers	:= $(patsubst user/tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard user/tests/fuzz/*_fuzz.c))

.DEFAULT_GOAL := all
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:

# Extensions are built only with the installed header, without other files of this tree.
plugins	:= $(patsubst user/examples/extensions/%.c,$(BUILD)/extensions/%.so,$(wildcard user/examples/extensions/*.c))
test_plugins := $(patsubst user/tests/plugins/%.c,$(BUILD)/tests/plugins/%.so,$(wildcard user/tests/plugins/*.c))

.PHONY: all user man doc deb test-install module kmod tests examples selftests demo demo-camera demo-gpu demo-pci check test test-all fuzz fuzzers coverage conformance \
	vm-tests replays stress soak test-clients check-kernel bench bench-plots bench-models bench-onnxruntime bench-vulkan retrain install modules_install clean help FORCE

all: user module examples selftests

help:
	@echo 'make                 everything: libraries, tools, engine, module (for $(KERNEL)), selftests'
	@echo 'make demo            sets up, boots a VM with the module and shows a network running in it'
	@echo 'make demo-camera     the same with a camera: frames go through a network without a copy'
	@echo 'make demo-gpu        digits by nnaccel-vulkan in a VM, on a software driver'
	@echo 'make demo-pci        a VM with a PCI device that an engine drives by VFIO'
	@echo 'make check           builds and runs the quick tests, which need no VM (2 minutes): before each change'
	@echo 'make test            sets up and runs what every change must pass, in VMs too (about 9 minutes)'
	@echo 'make test-all        everything; SHARD=I/N: a part of what make test leaves out'
	@echo 'make conformance     runs all NNAPI conformance vectors in all modes, natively and in a VM'
	@echo 'make stress          what one user can do to another, STRESS_SECONDS=$(STRESS_SECONDS) each, in a VM'
	@echo 'make soak            ten clients at once for MINUTES=$(MINUTES), in a VM; $(BUILD)/soak/soak.png shows it'
	@echo 'make test-clients    downloads PyTorch, TensorFlow Lite, ONNX Runtime and GStreamer, and runs them'
	@echo 'make fuzz            fuzzes each target for FUZZ_SECONDS=$(FUZZ_SECONDS)'
	@echo 'make coverage        what conditions the tests cover in whatever parses another process'"'"'s bytes'
	@echo 'make bench           runs the benchmarks; make bench-AREA runs one area'
	@echo 'make bench-nets      nine networks that people run, NETS= those whose names begin so'
	@echo 'make bench-onnxruntime  networks on ONNX Runtime, on the device and on its own kernels'
	@echo 'make bench-vulkan    the engine on Vulkan beside ggml, GPU= a part of the name of a GPU'
	@echo 'make bench-models    models that people use, from npm, MODELS= those of these names'
	@echo 'make retrain         trains the network of the demo again, to the same weights'
	@echo 'make user            libraries, tools and engine; make tests builds the unit tests'
	@echo 'make kmod            the module for each of: $(KERNELS)'
	@echo 'make check-kernel    W=1, sparse and checkpatch over the module'
	@echo 'make install         user space, below DESTDIR, PREFIX=$(PREFIX)'
	@echo 'make doc             the documentation as pages: $(BUILD)/doc/index.html'
	@echo 'make test-install    boots machines with these packages, and tests what is installed'
	@echo 'make deb             packages for Debian 12 and 13, each built in a clean one: $(BUILD)/deb'
	@echo 'make modules_install the module for the kernel of KDIR=$(KDIR)'
	@echo 'make clean           removes $(BUILD); the cache of kernels is outside and stays'
	@echo 'Variables: V=1 (shows the commands)'
	@echo '           ARCH=arm64 (cross-building, in build/arm64, and emulation: see arm64.rst)'
	@echo '           BUILD, CC, CFLAGS, SAN=1 (address and undefined behaviour sanitizers)'
	@echo '           EXTENSIONS_DIR, CONFIG_DIR (folders that the programs look into)'

# ---- user space: objects, archives, libraries, programs ----

user: $(archives) $(libengine) $(libhal) $(libhw) $(libnn) $(libtflite) $(libonnx) $(librun) $(run_python) \
	$(programs) $(trainer) $(if $(vulkan),,no-vulkan) \
	$(BUILD)/lib/libnnapi_sl_nnaccel.so

# Objects are rebuilt when the compiler or its flags change.
$(obj)/flags: FORCE
	$(if $(cross),$(if $(sysroot),,$(error No libraries of $(ARCH) to link: run scripts/setup --arm64)))
	@mkdir -p $(@D)
	@echo '$(CC) $(cflags)' | cmp -s - $@ || echo '$(CC) $(cflags)' > $@

$(obj)/%.o: %.c $(obj)/flags
	@mkdir -p $(@D)
	$(call short,CC)$(CC) $(cflags) -MMD -MP -c -o $@ $<

# A saved plan is valid only for the sources of the build that saved it, so a plan contains a hash
# of the sources.
plan_src := $(sort $(wildcard user/include/nnaccel/*.h user/base/*.h user/model/*.[ch] user/ops/*.[chd]* \
	user/plan/*.[ch] user/plan/*/*.[ch]))
$(gen)/plan_sources.h: $(plan_src)
	@mkdir -p $(@D)
	$(call short,GEN)cat $(plan_src) | sha256sum | sed 's/\(.\{16\}\).*/#define PLAN_SOURCES 0x\1u/' > $@
$(obj)/user/plan/saved/fingerprint.o $(fuzz_obj)/user/plan/saved/fingerprint.o: $(gen)/plan_sources.h

$(gen)/version.h: Makefile
	@mkdir -p $(@D)
	$(call short,GEN)echo '#define NNACCEL_VERSION "$(VERSION)"' > $@
$(foreach folder,$(obj) $(fuzz_obj),$(patsubst %,$(folder)/user/%.o,runtime/device_cpu tests/vulkan/device_cpu \
	engine/broker/main tests/engine_main_test tools/main tools/doctor clients/onnxruntime/factory)): $(gen)/version.h

$(obj)/user/tools/tool.o: private base += -DNN_PLUGIN_DIR=\"$(PLUGINDIR)\"

ifneq ($(SAN),)
$(obj)/user/tests/%.o: level := -O0
endif

# Sums and products of weights may overflow, because weights may have any value. With -fwrapv an
# overflow wraps, instead of being undefined.
fast_kernels := $(call objects,user/plan/kernels/*.c)
$(fast_kernels) $(fast_kernels:$(obj)/%=$(fuzz_obj)/%): private base += -fwrapv
# The files *_dotprod.c, *_i8mm.c and *_fp16.c use instructions that not all arm64 CPUs have.
ifeq ($(ARCH),arm64)
$(filter %_dotprod.o,$(fast_kernels)): private base += -march=armv8.2-a+dotprod
$(filter %_i8mm.o,$(fast_kernels)): private base += -march=armv8.2-a+i8mm
$(filter %_fp16.o,$(fast_kernels)): private base += -march=armv8.2-a+fp16
endif

$(BUILD)/lib/libnnmodel.a: $(model)
$(BUILD)/lib/libnnops.a: $(ops)
$(BUILD)/lib/libnnplan.a: $(plan)
$(BUILD)/lib/libnnring.a: $(ring)
$(BUILD)/lib/libnnkit.a: $(kit)
$(BUILD)/lib/libdemo.a: $(demo)
$(BUILD)/lib/%.a:
	@mkdir -p $(@D)
	$(call short,AR)rm -f $@; $(AR) rcs $@ $^

$(BUILD)/lib/libnnaccel.so.2: $(hal) $(ring) $(model) user/hal/libnnaccel.map
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -shared -o $@ $(filter %.o %.a,$^) $(soflags) -Wl,-soname,$(@F) \
		-Wl,--version-script,user/hal/libnnaccel.map -lm

# libneuralnetworks also contains cache_files.o, because nnapi-reference handles its cache files as
# nnaccel does.
$(BUILD)/lib/libnativewindow.so.1: $(hwbuffer) user/hwbuffer/libnativewindow.map $(libhal)
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -shared -o $@ $(filter %.o,$^) $(soflags) -Wl,-soname,$(@F) \
		-Wl,--version-script,user/hwbuffer/libnativewindow.map \
		$(call rpath,) -L$(BUILD)/lib -lnnaccel

$(BUILD)/lib/libneuralnetworks.so.1: $(runtime) $(obj)/user/hal/cache_files.o user/runtime/libneuralnetworks.map $(archives) $(libhal) $(libhw)
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -shared -o $@ $(filter %.o %.a,$^) $(soflags) -Wl,-soname,$(@F) \
		-Wl,--version-script,user/runtime/libneuralnetworks.map \
		$(call rpath,) -L$(BUILD)/lib $(if $(libhw),-lnativewindow) $(if $(hal),-lnnaccel) -lm -ldl

# The NNAPI library as a table of functions, for loaders of NNAPI support libraries.
libsl	:= $(BUILD)/lib/libnnapi_sl_nnaccel.so
sl_map	:= user/clients/support_library/support_library.map
$(libsl): $(runtime) $(obj)/user/hal/cache_files.o \
		$(call objects,user/clients/support_library/*.c) $(sl_map) $(archives) $(libhal) $(libhw)
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -shared -o $@ $(filter %.o %.a,$^) $(soflags) -Wl,-soname,$(@F) \
		-Wl,--version-script,$(sl_map) $(call rpath,) -L$(BUILD)/lib -lnativewindow -lnnaccel -lm -ldl

# TensorFlow Lite loads the delegate by a given path, so the library's name has no version.
$(libtflite): $(tflite) $(obj)/user/runtime/sha256.o $(obj)/user/ops/float16.o \
		user/clients/tflite/libnnaccel_tflite.map $(libnn) $(libhal)
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -shared -o $@ $(filter %.o,$^) $(soflags) -Wl,-soname,$(@F) \
		-Wl,--version-script,user/clients/tflite/libnnaccel_tflite.map \
		$(call rpath,) -L$(BUILD)/lib -lneuralnetworks -lnnaccel -lm

# ONNX Runtime loads the provider by a given path, so the library's name has no version.
$(libonnx): $(onnx) $(obj)/user/runtime/sha256.o $(obj)/user/ops/float16.o \
		user/clients/onnxruntime/onnxruntime.map $(libnn) $(libhal)
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -shared -o $@ $(filter %.o,$^) $(soflags) -Wl,-soname,$(@F) \
		-Wl,--version-script,user/clients/onnxruntime/onnxruntime.map \
		$(call rpath,) -L$(BUILD)/lib -lneuralnetworks -lnnaccel -lm

# libnnaccel_run.so replaces symbols of other libraries, and finds the original symbols by a jump to
# dlsym().
$(obj)/user/run/real.o: private base += -foptimize-sibling-calls
$(librun): $(call objects,user/run/*.c) user/run/run.map
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -shared -o $@ $(filter %.o,$^) $(soflags) -Wl,-soname,$(@F) \
		-Wl,--version-script,user/run/run.map -ldl

$(run_python): user/run/python/sitecustomize.py
	$(call short,CP)install -D -m 644 $< $@

# The NNAPI library with plug-ins for its CPU device, for tests.
plugged := $(BUILD)/tests/plugged/libneuralnetworks.so
$(plugged): $(runtime) $(obj)/user/hal/cache_files.o $(call objects,user/tests/plugged/*.c) \
		$(patsubst %,$(obj)/user/engine/worker/%.o,plugin_op device) \
		$(patsubst %,$(obj)/user/%.o,base/build_id kit/api/device kit/api/log kit/plugin/guard kit/plugin/plugin \
			kit/plugin/plugin_call) \
		user/runtime/libneuralnetworks.map $(archives) $(libhal) $(libhw) | $(plugins)
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -shared -o $@ $(filter %.o %.a,$^) $(soflags) \
		-Wl,--version-script,user/runtime/libneuralnetworks.map \
		$(call rpath,/../../lib) -L$(BUILD)/lib -lnativewindow -lnnaccel -lm -ldl

# The NNAPI library with a software driver of Vulkan as its device, for tests.
vulkan_library := $(BUILD)/tests/vulkan/libneuralnetworks.so
$(vulkan_library): $(filter-out %/device_cpu.o,$(runtime)) $(obj)/user/hal/cache_files.o $(call objects,user/tests/vulkan/*.c) \
		$(vulkan_core) user/runtime/libneuralnetworks.map $(archives) $(libhal) $(libhw)
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -shared -o $@ $(filter %.o %.a,$^) $(soflags) \
		-Wl,--version-script,user/runtime/libneuralnetworks.map \
		$(call rpath,/../../lib) -L$(BUILD)/lib -lnativewindow -lnnaccel -lvulkan -lm -ldl

# libnnaccel-engine.so for engines outside of this tree: the kit, and the code that decodes models.
$(libengine).2: $(kit) $(ring) $(model) user/kit/api/libnnaccel-engine.map
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -shared -o $@ $(filter %.o,$^) $(soflags) -Wl,-soname,$(@F) \
		-Wl,--version-script,user/kit/api/libnnaccel-engine.map -lseccomp -lcrypto

$(major_1): %: %.1
$(major_2): %: %.2
$(major_1) $(major_2):
	$(if $(V),,@)ln -sf $(<F) $@

$(BUILD)/sbin/nnacceld: $(broker) $(BUILD)/lib/libnnkit.a
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -o $@ $^ $(ldflags) -Wl,--build-id -lcrypto

$(BUILD)/sbin/nnaccel-worker: $(worker) $(BUILD)/lib/libnnkit.a $(archives)
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -o $@ $^ $(ldflags) -Wl,--build-id $(worker_libs)

$(BUILD)/sbin/nnaccel-keeper: $(keeper) $(BUILD)/lib/libnnkit.a
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -o $@ $^ $(ldflags) -lseccomp -lsqlite3 -lcrypto

# Not every version of glslang supports cooperative matrices. Without this support, the shader for
# cooperative matrices is empty and not used.
$(gen)/glslang: FORCE
	@mkdir -p $(@D)
	@compiler=$$(scripts/glslang); echo "$$compiler" | cmp -s - $@ || echo "$$compiler" > $@
$(gen)/shaders/%.c: private compiler := $(glslang)
$(gen)/shaders/conv_f_matrix.c: private compiler = $(shell cat $(gen)/glslang)
$(gen)/shaders/conv_f_matrix.c: $(gen)/glslang
$(gen)/shaders/%.c: user/vulkan/shaders/%.comp $(wildcard user/vulkan/shaders/*.glsl) user/vulkan/shaders/params.h
	@mkdir -p $(@D)
	$(call show,GLSL) $(if $(compiler),$(compiler) -V --quiet --target-env vulkan1.1 -Iuser/vulkan/shaders --vn vulkan_$* \
		-o $(@:.c=.h) $<,echo 'const uint32_t vulkan_$*[] = { 0 };' > $(@:.c=.h)) && \
	printf '#include <stddef.h>\n#include <stdint.h>\n#include "%s"\nconst size_t vulkan_%s_size = sizeof(vulkan_%s);\n' \
		$*.h $* $* > $@
$(shaders): $(obj)/shaders/%.o: $(gen)/shaders/%.c $(obj)/flags
	@mkdir -p $(@D)
	$(call short,CC)$(CC) $(cflags) -c -o $@ $<

$(BUILD)/sbin/nnaccel-vulkan: $(vulkan) $(BUILD)/lib/libnnkit.a $(archives)
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -o $@ $^ $(ldflags) -Wl,--build-id $(worker_libs) -lvulkan

.PHONY: no-vulkan
no-vulkan:
	@echo 'nnaccel-vulkan is not built: it takes libvulkan-dev and glslang-tools, which scripts/setup installs'

# A second build of the worker, for tests. The second build differs only in its identity, the hash
# of its file. A broker uses the worker that lies in the broker's folder.
$(BUILD)/tests/rebuilt/nnacceld: $(worker) $(BUILD)/lib/libnnkit.a $(archives) $(BUILD)/sbin/nnacceld
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -o $(@D)/nnaccel-worker $(filter %.o %.a,$^) $(ldflags) -Wl,--build-id,--defsym=rebuilt=1 \
		$(worker_libs)
	$(if $(V),,@)ln -sf ../../sbin/nnaccel-keeper $(@D)
	cp $(BUILD)/sbin/nnacceld $@

$(BUILD)/bin/nnaccel: $(tools) $(makers) $(call archive,plan ops model) $(libhal) $(libhw) $(libnn)
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -o $@ $(filter %.o %.a,$^) $(ldflags) $(call rpath,/../lib) \
		-L$(BUILD)/lib $(if $(runtime),-lneuralnetworks -lnativewindow) \
		$(if $(hal),-lnnaccel) -lpng -lsqlite3 -lm

# The program train_digits writes the source of the demo's weights, user/tools/demo/weights.c, to
# its standard output.
$(BUILD)/bin/train_digits: $(obj)/user/tools/demo/train_digits.o $(libdemo) $(call archive,model)
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -o $@ $^ $(ldflags) -lm

retrain: $(trainer)
	$< > $(BUILD)/weights.c
	cmp $(BUILD)/weights.c user/tools/demo/weights.c || cp $(BUILD)/weights.c user/tools/demo

# The engine of a PCI device.
edu_engine := $(BUILD)/examples/edu-engine
own_engines := $(patsubst %,$(BUILD)/examples/%-engine,sample plugged)
examples: $(examples) $(plugins) $(own_engines) $(edu_engine)
$(edu_engine): $(call objects,user/examples/edu-engine/*.c) $(libengine)
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -o $@ $(filter %.o,$^) $(ldflags) -Wl,--build-id $(call rpath,/../lib) \
		-L$(BUILD)/lib -lnnaccel-engine
plugin_build = @mkdir -p $(@D); $(call show,LD) $(CC) -std=gnu11 $(warnings) $(CFLAGS) -fPIC \
	-fvisibility=hidden -I$(BUILD)/stage/include -shared -o $@ $< -lm
$(BUILD)/extensions/%.so: user/examples/extensions/%.c $(wildcard user/examples/extensions/*.h) \
		$(BUILD)/stage/include/nnaccel/extension.h
	$(plugin_build)
$(BUILD)/tests/plugins/%.so: user/tests/plugins/%.c $(wildcard user/tests/plugins/*.h) \
		$(BUILD)/stage/include/nnaccel/extension.h
	$(plugin_build)
# Examples use only the exported symbols of the libraries, like programs outside of this tree.
$(BUILD)/examples/%: $(obj)/user/examples/%.o $(libhal) $(libnn)
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -o $@ $(filter %.o,$^) $(ldflags) $(call rpath,/../lib) \
		-L$(BUILD)/lib $(if $(runtime),-lneuralnetworks) $(if $(hal),-lnnaccel) -lm

# The following objects let allocations fail at the request of a test, and count leaks. The programs
# of an engine that uses them lie in one folder.
failing	:= $(call objects,user/tests/failing/*.c)
failing_calls := $(patsubst %,-Wl$(comma)--wrap=%,malloc calloc realloc reallocarray aligned_alloc strdup \
	open_memstream fopen mmap memfd_create eventfd epoll_create1 pthread_create free munmap pthread_join \
	pthread_cond_init pthread_cond_destroy pthread_cond_wait $(patsubst %,pthread_mutex_%,init lock trylock unlock \
	destroy) $(patsubst %,pthread_rwlock_%,init rdlock wrlock unlock destroy))
failing_engine := $(patsubst %,$(BUILD)/tests/failing/%,nnacceld nnaccel-worker nnaccel-keeper)
$(BUILD)/tests/failing/nnacceld: $(broker)
$(BUILD)/tests/failing/nnaccel-worker: $(worker)
$(BUILD)/tests/failing/nnaccel-keeper: $(keeper)
$(failing_engine): $(failing) $(call objects,user/tests/failing_engine/*.c) $(BUILD)/lib/libnnkit.a $(archives)
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(ldflags) $(failing_calls) -Wl,--build-id \
		$(worker_libs) -lsqlite3

# For tests of the kit: the parts of nnacceld's worker as a separate engine.
kit_engine := $(BUILD)/tests/kit_engine
$(kit_engine): $(call objects,user/tests/kit_engine/*.c) $(filter-out %/main.o,$(worker)) \
		$(BUILD)/lib/libnnkit.a $(archives)
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -o $@ $(filter %.o %.a,$^) $(ldflags) -Wl,--build-id $(worker_libs)

# Separate engines are built only with the installed headers and the library, without other files of
# this tree.
staged_headers := $(patsubst user/include/%,$(BUILD)/stage/include/%,$(wildcard user/include/nnaccel/*.h))
$(BUILD)/stage/include/nnaccel/%.h: user/include/nnaccel/%.h
	$(call short,CP)install -D -m 644 $< $@
$(BUILD)/examples/sample-engine: user/examples/engine/sample.c
$(BUILD)/examples/plugged-engine: user/examples/extension-engine/plugged.c
$(own_engines): $(staged_headers) $(libengine)
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -std=gnu11 $(warnings) -Wno-unused-parameter $(CFLAGS) $(san) -fPIE -pie -I$(BUILD)/stage/include \
		-o $@ $(filter %.c,$^) -Wl,--build-id $(call rpath,/../lib) -L$(BUILD)/lib -lnnaccel-engine
	$(if $(V),,@)ln -sf ../sbin/nnaccel-keeper $(@D)/nnaccel-keeper

# Copies of the sample engine and of nnacceld's engine, with faults that `nnaccel engine-test` has
# to find.
faulty_engine := $(BUILD)/tests/faulty-engine
$(obj)/user/tests/faulty_engine/faulty.o: base += -D_GNU_SOURCE -Wno-unused-parameter
$(faulty_engine): $(call objects,user/tests/faulty_engine/*.c) $(filter-out %/main.o,$(worker)) \
		$(BUILD)/lib/libnnkit.a $(archives)
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -o $@ $(filter %.o %.a,$^) $(ldflags) -Wl,--build-id $(worker_libs)
	$(if $(V),,@)ln -sf ../sbin/nnaccel-keeper $(@D)/nnaccel-keeper

# An engine finds the keeper by a link in the engine's folder.
$(own_engines) $(kit_engine) $(faulty_engine) $(BUILD)/tests/rebuilt/nnacceld: | $(BUILD)/sbin/nnaccel-keeper

# The programs that submit requests by io_uring.
$(BUILD)/examples/uring $(BUILD)/tests/hal_async_test $(BUILD)/tests/hal_dmabuf_test \
	$(BUILD)/bench-bin/uring $(BUILD)/bench-bin/burst: private ldflags += -luring

# ---- unit tests: each NAME_test.c is a program, and contains the other files of user/tests ----

# The programs *_nodes_test and run_test are excluded, because they define the functions of locks.o,
# or dlsym(), themselves.
$(filter-out %_nodes_test %/run_test,$(tests)) $(kit_engine) $(failing_engine): $(obj)/user/tests/locks/locks.o
tests: $(tests) $(kit_engine) $(faulty_engine) $(failing_engine) $(BUILD)/tests/stress $(BUILD)/tests/soak $(BUILD)/tests/edu $(BUILD)/tests/edu_iommu $(plugins) $(test_plugins) $(BUILD)/tests/rebuilt/nnacceld \
	$(plugged) $(if $(vulkan),$(vulkan_library))
test_link = @mkdir -p $(@D); $(call show,LD) \
	$(CC) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(ldflags) $(call rpath,/../lib) -L$(BUILD)/lib

$(BUILD)/tests/runtime_%_test: $(obj)/user/tests/runtime_%_test.o $(test_lib) $(libnn) $(call archive,model)
	$(test_link) -lneuralnetworks $(if $(libhw),-lnativewindow) -lnnaccel -lcmocka -lm
$(BUILD)/tests/hal_runtime_%_test: $(obj)/user/tests/hal_runtime_%_test.o $(test_lib) $(libnn) \
		$(call archive,model)
	$(test_link) -lneuralnetworks -lcmocka -lm
$(BUILD)/tests/hal_%_test: $(obj)/user/tests/hal_%_test.o $(test_lib) $(libhal) $(call archive,ring model)
	$(test_link) -lnnaccel -lcmocka -lm
# The following programs use the exporter in selftests/lib.
exporters := $(obj)/selftests/lib/exporters.o
$(exporters) $(patsubst %,$(obj)/user/tests/%.o,hal_dmabuf_test hal_reach_test hal_kit_test hal_runtime_mixed_test hal_runtime_vulkan_test libnnaccel_direct_test \
		kit_engine/engine): \
	base += -D_GNU_SOURCE -Iselftests/lib -Ikernel/test
$(patsubst %,$(BUILD)/tests/%,hal_dmabuf_test hal_reach_test hal_kit_test hal_runtime_mixed_test hal_runtime_vulkan_test kit_engine): $(exporters)
$(BUILD)/tests/engine_%_test: $(obj)/user/tests/engine_%_test.o $(test_lib) \
		$(filter-out %/main.o,$(broker) $(worker)) $(filter-out %/program.o,$(keeper)) \
		$(BUILD)/lib/libnnkit.a $(archives)
	$(test_link) $(worker_libs) -lsqlite3 -lcmocka
$(BUILD)/tests/engine_broker_test: private ldflags += $(patsubst %,-Wl$(comma)--wrap=cgroup_%,leaf_create_for leaf_move leaf_remove leaf_set_low user_set_low)
# The source of this test includes the main() of nnacceld.
$(BUILD)/tests/engine_main_test: private ldflags += $(patsubst %,-Wl$(comma)--wrap=%,broker_run extensions_find program_ask spawner_init)
$(BUILD)/tests/allowlist_test: $(obj)/user/tests/allowlist_test.o $(obj)/user/base/allowlist.o $(failing)
	$(test_link) $(failing_calls) -lcmocka
# The source of this test includes the keeper's loop.
$(BUILD)/tests/keeper_loop_test: $(patsubst %,$(obj)/user/%.o,kit/cache/message kit/api/log base/packet)
# The tests of the provider for ONNX Runtime imitate ONNX Runtime.
$(patsubst %,$(BUILD)/tests/%_test,onnxruntime onnxruntime_nodes): $(BUILD)/tests/%: $(obj)/user/tests/%.o $(onnx) \
		$(patsubst %,$(obj)/user/%.o,runtime/sha256 ops/float16) $(libnn)
	$(test_link) -lneuralnetworks -lnnaccel -lcmocka -lm
$(BUILD)/tests/onnxruntime_test: private ldflags += -Wl,--wrap=translation_new
$(BUILD)/tests/onnxruntime_nodes_test: $(failing)
$(BUILD)/tests/onnxruntime_nodes_test: private ldflags += $(failing_calls)
# The support library's test loads the library at run time, and replaces functions of libnnaccel.
$(BUILD)/tests/support_library_test: private ldflags += -rdynamic
$(BUILD)/tests/support_library_test: $(obj)/user/tests/support_library_test.o | $(libsl)
	$(test_link) -lcmocka -ldl
$(patsubst %,$(BUILD)/tests/%_test,tflite tflite_nodes): $(BUILD)/tests/%: $(obj)/user/tests/%.o $(libtflite) \
		$(archives)
	$(test_link) -lnnaccel_tflite -lnnaccel -lcmocka -lm
$(BUILD)/tests/tools_%_test: $(obj)/user/tests/tools_%_test.o $(obj)/user/tools/tool.o $(call objects,user/base/*.c) \
		$(libnn)
	$(test_link) -lneuralnetworks -lcmocka -lsqlite3 -lm
$(BUILD)/tests/libnnaccel_test: $(obj)/user/tests/libnnaccel_test.o $(libhal) $(call archive,model)
	$(test_link) -lnnaccel -lcmocka
$(BUILD)/tests/tools_cache_test: $(patsubst %,$(obj)/user/%.o,tools/cache kit/cache/message)
$(BUILD)/tests/tools_vector_test: $(patsubst %,$(obj)/user/%.o,tools/engine_test/vector vectors/random tests/model_builder) \
	$(call archive,plan ops model)
# run_test has its own functions instead of the runtimes' functions.
$(BUILD)/tests/run_test: $(patsubst %,$(obj)/user/run/%.o,say ort tflite)
$(BUILD)/tests/run_real_test: $(obj)/user/run/real.o | $(librun)
# tools_report_test has its own functions instead of those of the machine and of the libraries.
$(BUILD)/tests/tools_report_test: $(patsubst %,$(obj)/user/tools/%.o,info stat clients models cdi doctor) \
	$(call archive,ops model)
$(BUILD)/tests/tools_runtime_test: $(patsubst %,$(obj)/user/tools/runtime/%.o,runtime shapes) $(call archive,ops)
$(patsubst %,$(BUILD)/tests/tools_%_test,onnxruntime tflite): $(obj)/user/tools/runtime/shapes.o
# tools_demo_test imitates a device, a camera and the clock.
$(BUILD)/tests/tools_demo_test: $(patsubst %,$(obj)/user/tools/%.o,demo demo_camera) $(call objects,user/tools/camera/*.c) \
	$(libdemo) $(call archive,plan ops model)
$(BUILD)/tests/tools_demo_test: private ldflags += -lpng -lnativewindow $(patsubst %,-Wl$(comma)--wrap=%,open ioctl poll fopen clock_gettime)
# tools_models_test imitates the runtime.
$(BUILD)/tests/tools_models_test: $(patsubst %,$(obj)/user/tools/%.o,explain bench runtime/shapes) $(call archive,ops model)
# The tests libnnaccel_*_test call internal functions of libnnaccel; some of them imitate the kernel
# by an ioctl() of their own.
$(BUILD)/tests/libnnaccel_%_test: $(obj)/user/tests/libnnaccel_%_test.o $(hal) $(failing) $(call archive,ring model)
	$(test_link) $(failing_calls) -lcmocka -lm
# libnnaccel_direct_test starts the test engine at run time.
$(BUILD)/tests/libnnaccel_direct_test: $(obj)/user/tests/model_builder.o | $(kit_engine)
$(BUILD)/tests/vectors_test: $(makers)
# plan_diff_test needs the objects that make its graphs and that damage its plans.
$(BUILD)/tests/plan_diff_test: $(call objects,user/tests/plan_diff/*.c) $(makers)
$(BUILD)/tests/plan_each_test: $(addprefix $(obj)/user/tests/plan_diff/,bounds.o damage.o) $(obj)/user/vectors/form.o
# The following programs let allocations fail, as libnnaccel_*_test do.
$(patsubst %,$(BUILD)/tests/%_test,plan_fail runtime_fail hal_fail engine_fail engine_plugin): private ldflags += $(failing_calls)
$(BUILD)/tests/plan_fail_test: $(failing) $(filter-out %/bounds.o %/damage.o,$(call objects,user/tests/plan_diff/*.c)) $(makers)
$(patsubst %,$(BUILD)/tests/%_test,hal_fail engine_fail engine_plugin): $(failing)
# runtime_fail_test contains the objects of the libraries, so that the libraries' allocations can
# fail, too.
$(BUILD)/tests/runtime_fail_test: $(obj)/user/tests/runtime_fail_test.o $(test_lib) $(failing) $(runtime) $(hwbuffer) \
		$(hal) $(call archive,plan ops ring model)
	$(test_link) -lcmocka -lm -ldl
# plan_nets_test runs the networks of the benches, in their smallest size.
$(BUILD)/tests/plan_nets_test: $(patsubst %,$(obj)/user/bench/compute/%.o,net builder plan_net graph sequence)
$(BUILD)/tests/bench_calibrate_test: $(obj)/user/bench/compute/calibrate.o
$(BUILD)/tests/bench_schedule_test: $(obj)/user/bench/compute/schedule_model.o
$(BUILD)/tests/camera_test: $(patsubst %,$(obj)/user/tools/camera/%.o,sheet outside)
$(BUILD)/tests/camera_test: private ldflags += -lpng
# plan_alloc_test counts allocations and locks in executions of plans.
$(BUILD)/tests/plan_alloc_test: private ldflags += $(patsubst %,-Wl$(comma)--wrap=%,malloc calloc realloc \
	aligned_alloc free mmap munmap pthread_mutex_lock)
# vulkan_lower_test needs the headers of Vulkan, but no library of Vulkan.
$(BUILD)/tests/vulkan_lower_test: $(filter $(obj)/user/vulkan/lower_% %/arena.o %/fuse.o %/graph.o %/operations.o,$(vulkan)) \
		$(obj)/user/tests/plan_diff/compare.o $(makers)
# A Vulkan layer that vulkan_test loads; the layer's manifest names the library.
vulkan_layer := $(BUILD)/tests/vulkan_layer/libVkLayer_nnaccel_test.so
$(vulkan_layer): user/tests/vulkan_layer/layer.c user/tests/vulkan_layer/layer.h $(obj)/flags
	@mkdir -p $(@D)
	$(call short,LD)$(CC) $(cflags) -fvisibility=hidden -shared -o $@ $< $(soflags)
	$(if $(V),,@)printf '{ "file_format_version": "1.1.2", "layer": { "name": "VK_LAYER_NNACCEL_test", "type": "GLOBAL", "library_path": "./%s", "api_version": "1.1.0", "implementation_version": "1", "description": "failures for tests" } }\n' \
		$(@F) > $(@D)/test.json
# vulkan_test has its own functions instead of the engine's store, and uses the random graphs of the
# tests of plans.
$(BUILD)/tests/vulkan_test: $(obj)/user/tests/vulkan_test.o $(test_lib) $(filter-out %/vulkan/main.o,$(vulkan)) \
		$(obj)/user/tests/plan_diff/compare.o $(makers) $(BUILD)/lib/libnnkit.a $(archives) | $(vulkan_layer)
	$(test_link) $(patsubst %,-Wl$(comma)--wrap=%,clock_gettime ioctl nna_engine_buffer nna_engine_dependencies nna_engine_end_with_fence \
		nna_engine_gone_file nna_engine_region_of nna_engine_region_file nna_engine_store_get nna_engine_store_put) \
		$(worker_libs) -lvulkan -lcmocka
$(BUILD)/tests/%_test: $(obj)/user/tests/%_test.o $(test_lib) $(libdemo) $(archives)
	$(test_link) -lcmocka -lm -ldl

vm-tests: user examples selftests module $(vm_tests) $(kit_engine) $(plugins) $(test_plugins)

# The test program edu runs in a VM that has QEMU's PCI device edu.
$(obj)/user/tests/edu/edu.o: base += -Iselftests/lib -Ikernel/test
$(BUILD)/tests/edu: $(obj)/user/tests/edu/edu.o $(obj)/user/tests/model_builder.o $(exporters) $(libhal) \
		$(call archive,model)
	$(test_link) -lnnaccel -lcmocka
$(BUILD)/tests/edu_iommu: $(obj)/user/tests/edu/iommu.o $(obj)/user/examples/edu-engine/device.o
	$(test_link) -lcmocka

# The program stress runs in a VM and measures how much one user slows down another.
$(BUILD)/tests/stress: $(obj)/user/tests/stress/stress.o $(obj)/user/tests/model_builder.o $(libhal) \
		$(call archive,model)
	$(test_link) -lnnaccel -lm

# The program soak runs in a VM and loads the device for a long time.
$(obj)/user/tests/soak/%.o: base += -D_GNU_SOURCE -Iselftests/lib -Ikernel/test
$(obj)/selftests/lib/summary.o: base += -D_GNU_SOURCE
soak_parts := $(call objects,user/tests/soak/*.c user/tests/plan_diff/*.c) $(makers)
$(BUILD)/tests/soak: private ldflags += -luring
$(BUILD)/tests/soak: $(filter-out %/bounds.o %/damage.o,$(soak_parts)) $(obj)/user/tests/model_builder.o \
		$(exporters) $(obj)/selftests/lib/summary.o $(libhal) $(archives)
	$(test_link) -lnnaccel -lcmocka -lm

# ---- fuzzing: all sources are compiled again, by clang with instrumentation ----

fuzz_flags := -g -fsanitize=address,undefined -fno-sanitize-recover=all
fuzz_parts := $(patsubst %.c,$(fuzz_obj)/%.o,$(wildcard user/model/*.c user/ops/*.c user/plan/*.c user/plan/*/*.c user/ring/*.c))

fuzz_level := -O1 -fsanitize=fuzzer-no-link
# clang needs more time for the inner loops than for all other sources. The inner loops parse no
# hostile bytes, and would make up most of the code that libFuzzer counts.
$(fuzz_obj)/user/plan/kernels/%.o: fuzz_level := -O0
# Only code that parses bytes reports compared numbers to libFuzzer. In the folders of the next
# line, reporting would take a third of the time.
$(foreach folder,clients ops plan/passes plan/run runtime hal tests,$(fuzz_obj)/user/$(folder)/%.o): fuzz_level += -fno-sanitize-coverage=trace-cmp
$(fuzz_obj)/user/plan/run/threads.o: private base += -DHELPER_STACK_SIZE=8388608
$(fuzz_obj)/%.o: %.c
	@mkdir -p $(@D)
	$(call short,CC)$(CLANG) $(base) $(fuzz_flags) $(fuzz_level) -pthread -MMD -MP -c -o $@ $<
$(BUILD)/fuzz/%: $(fuzz_obj)/user/tests/fuzz/%.o $(fuzz_parts)
	$(call short,LD)$(CLANG) $(fuzz_flags) -fsanitize=fuzzer -pthread -o $@ $^ -lm -ldl
$(BUILD)/fuzz/keeper_fuzz: $(patsubst %,$(fuzz_obj)/user/%.o,kit/cache/message base/packet)
# The fuzzers of the plug-ins contain the NNAPI library, and run on its CPU device.
fuzz_library := $(patsubst %.c,$(fuzz_obj)/%.o,$(wildcard user/runtime/*.c user/hal/*.c user/hwbuffer/*.c user/base/packet.c) \
	user/base/allowlist.c)
$(patsubst %,$(BUILD)/fuzz/%_fuzz,onnxruntime tflite): $(fuzz_library)
$(BUILD)/fuzz/onnxruntime_fuzz: $(patsubst $(obj)/%,$(fuzz_obj)/%,$(onnx))
$(BUILD)/fuzz/tflite_fuzz: $(patsubst $(obj)/%,$(fuzz_obj)/%,$(tflite))
# A replay program is built with the ordinary compiler and replays a fuzzer's corpus.
$(BUILD)/replay/%: $(obj)/user/tests/fuzz/%.o $(obj)/user/tests/fuzz/replay.o $(archives)
	$(test_link) -lm -ldl
$(BUILD)/replay/keeper_fuzz: $(patsubst %,$(obj)/user/%.o,kit/cache/message base/packet)
$(BUILD)/replay/onnxruntime_fuzz: $(onnx) $(runtime) $(hal) $(hwbuffer)
$(BUILD)/replay/tflite_fuzz: $(tflite) $(runtime) $(hal) $(hwbuffer)
replays: $(replays)
fuzzers: $(fuzzers)

fuzz:
	$(setup)
	$(MAKE) fuzzers
	scripts/fuzz -max_total_time=$(FUZZ_SECONDS) $(fuzzers)

coverage:
	scripts/setup --coverage
	scripts/conditions

# ---- the module: each kernel has a build folder, to which the sources are copied ----

module: $(BUILD)/nnaccel.ko
kmod: $(KERNELS:%=$(BUILD)/kmod/%/nnaccel.ko)

kernel_src := Kbuild $(wildcard kernel/*.[ch] kernel/test/*.[ch] include/uapi/linux/nnaccel.h)
$(BUILD)/kmod/%/nnaccel.ko: $(kernel_src) scripts/kmod
	$(call short,KMOD)scripts/kmod $* $(@D) NNACCEL_TESTS=m
$(BUILD)/nnaccel.ko: $(BUILD)/kmod/$(KERNEL)/nnaccel.ko
	$(call short,CP)cp $< $@

modules_install:
	scripts/kmod $(KDIR) $(BUILD)/kmod/native
	$(MAKE) -C $(KDIR) M=$(abspath $(BUILD)/kmod/native) \
		INSTALL_MOD_PATH=$(DESTDIR) \
		CONFIG_MODULE_SIG_ALL= modules_install
	$(if $(DESTDIR),,depmod)
	install -D -m 644 $(dist)/nnaccel-modules-load.conf \
		$(DESTDIR)/usr/lib/modules-load.d/nnaccel.conf

check-kernel:
	scripts/check-kernel $(BUILD)/kmod/check

selftests:
	+$(MAKE) -C selftests BUILD=$(abspath $(BUILD)) CC='$(CC)' CFLAGS='$(CFLAGS)'

# ---- running nnaccel ----

demo:
	$(setup)
	$(MAKE) all
	BUILD=$(BUILD) scripts/vm -- nnaccel demo

# Tests the packages of make deb in virtual machines of Debian 12 and 13 with systemd.
test-install:
	$(setup)
	for release in bookworm trixie; do \
		[ -e $(BUILD)/deb/$$release ] || BUILD=$(BUILD) scripts/deb $$release || exit; \
		BUILD=$(BUILD) scripts/upgrade $$release || exit; \
		BUILD=$(BUILD) scripts/machine $$release || exit; \
	done

deb:
	$(setup)
	BUILD=$(BUILD) scripts/deb

demo-camera:
	$(setup)
	$(MAKE) all
	BUILD=$(BUILD) scripts/vm -- scripts/guest/camera
	cp $(BUILD)/vm-out/demo-camera.png $(BUILD)/demo-camera.png
	@echo 'The contact sheet is $(BUILD)/demo-camera.png.'

demo-gpu:
	$(setup)
	$(MAKE) all
	BUILD=$(BUILD) scripts/suite/vulkan-vm demo

demo-pci:
	$(setup)
	$(MAKE) all
	BUILD=$(BUILD) scripts/vm --edu --no-engine -- scripts/guest/edu demo

check:
	$(setup)
	BUILD=$(BUILD) scripts/run-tests --check

test:
	$(setup)
	BUILD=$(BUILD) scripts/run-tests

# SHARD=I/N runs the I-th of N parts of the suites that make test leaves out.
test-all:
	$(setup)
	BUILD=$(BUILD) scripts/run-tests $(if $(SHARD),--shard $(SHARD),--all)

conformance:
	$(setup)
	BUILD=$(BUILD) scripts/run-tests conformance-sync conformance conformance-clang conformance-san conformance-vm conformance-no-engine

# The soak's plot needs gnuplot.
soak: user $(BUILD)/tests/soak $(plugins)
	BUILD=$(BUILD) scripts/vm --mem 2048 --check-log --out $(BUILD)/soak \
		--timeout $$(($(MINUTES) * 60 + 600)) -- scripts/guest/soak --minutes=$(MINUTES) $(SOAK)
	user/tests/soak/plot $(BUILD)/soak/samples.tsv $(BUILD)/soak/soak.png

stress: user $(BUILD)/tests/stress
	BUILD=$(BUILD) scripts/vm --mem 2048 --timeout $(shell echo $$(($(STRESS_SECONDS) * 16 + 300))) -- $(abspath $(BUILD)/tests/stress) $(STRESS_SECONDS) $(ATTACKS)

test-clients:
	$(setup)
	BUILD=$(BUILD) scripts/run-tests clients clients-tflite clients-onnxruntime clients-models clients-run

$(benches) $(patsubst %,$(BUILD)/bench-bin/%,compute-trixie uring vulkan): $(obj)/user/base/option.o
$(BUILD)/bench-bin/%: $(obj)/user/bench/%.o $(archives) $(libhal) $(libnn)
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(ldflags) $(call rpath,/../lib) \
		-L$(BUILD)/lib $(if $(runtime),-lneuralnetworks) $(if $(hal),-lnnaccel) -lm -ldl

# The code that measures XNNPACK as the peer is built if XNNPACK's header is found. Debian 12 has
# XNNPACK of 2022-02; Debian 13 has 2024-11, with another interface.
xnnpack_header := $(wildcard $(sysroot)/usr/include/xnnpack.h)
xnnpack_year := $(if $(xnnpack_header),$(if $(shell grep -ls xnn_setup_sigmoid_nc_f32 $(xnnpack_header)),2022,2024))
$(obj)/user/bench/compute/%.o: private base += $(xnnpack_year:%=-DNN_BENCH_XNNPACK=%)
xnnpack	:= $(if $(xnnpack_year),-lXNNPACK -lpthreadpool \
	$(if $(wildcard $(sysroot)/usr/include/cpuinfo.h),-lcpuinfo))
# XNNPACK chooses its kernels once in a process, so each instruction set needs a run of its own.
levels	:= $(if $(findstring cpuinfo,$(xnnpack)),$(if $(filter amd64,$(ARCH)),avx512 avx2 sse4 sse2))
compute	:= $(call objects,user/bench/compute.c user/bench/compute/*.c)
compute_link = @mkdir -p $(@D); $(call show,LD) $(CC) -o $@ $(filter %.o %.a,$^) $(ldflags) \
	$(call rpath,/../lib) -L$(BUILD)/lib -lneuralnetworks -lnnaccel
$(BUILD)/bench-bin/compute: $(compute) $(archives) $(libhal) $(libnn)
	$(compute_link) $(xnnpack) -lm -ldl

# The bench also runs with XNNPACK of Debian 13 on other systems, if scripts/xnnpack has unpacked it
# with its loader and libraries.
trixie	:= $(if $(cross),,$(shell scripts/xnnpack --cached))
trixie_lib := $(patsubst %/libXNNPACK.so,%,$(if $(trixie),$(wildcard $(trixie)/usr/lib/*/libXNNPACK.so)))
from_trixie := $(patsubst $(obj)/%,$(obj)/trixie/%,$(filter $(obj)/user/bench/compute/xnnpack_%,$(compute)))
$(from_trixie): $(obj)/trixie/%.o: %.c $(obj)/flags
	@mkdir -p $(@D)
	$(call short,CC)$(CC) $(cflags) -DNN_BENCH_XNNPACK=2024 -isystem $(trixie)/usr/include -MMD -MP -c -o $@ $<
$(BUILD)/bench-bin/compute-trixie: $(from_trixie) $(filter-out $(from_trixie:$(obj)/trixie/%=$(obj)/%),$(compute)) \
		$(archives) $(libhal) $(libnn)
	$(compute_link) -L$(trixie_lib) -lXNNPACK -lpthreadpool -lcpuinfo -lm -ldl -Wl,--allow-shlib-undefined \
		-Wl,--disable-new-dtags,-rpath,$(trixie_lib) -Wl,--dynamic-linker,$(wildcard $(trixie_lib)/ld-linux-*)

# Measures networks in real use and prints a line for each. bench-nets is not a part of `make
# bench`, because it takes minutes.
bench-nets: $(BUILD)/bench-bin/compute
	@mkdir -p $(BUILD)/bench
	$< --nets $(NETS) > $(BUILD)/bench/nets.tsv
	column -t -s '	' $(BUILD)/bench/nets.tsv

# Compares the Vulkan engine with ggml on the software driver of Debian sid. The cooperative
# matrices of ggml are turned off, because compiling them takes minutes. GPU=NAME measures a GPU of
# this machine, without ggml. NETS= selects networks.
bench-vulkan: $(BUILD)/bench-bin/vulkan
	@mkdir -p $(BUILD)/bench
	set -e; sid=$$(scripts/mesa sid); $(if $(GPU),,GGML_VK_DISABLE_COOPMAT=1 GGML_VK_VISIBLE_DEVICES=0 $$sid/bin/run) $< $(or $(GPU),software) \
		"$$(echo $$sid/usr/lib/*/ggml/backends0/libggml-vulkan.so)" $(NETS) > $(BUILD)/bench/vulkan.tsv
	column -t -s '	' $(BUILD)/bench/vulkan.tsv
$(BUILD)/bench-bin/vulkan: $(call objects,user/bench/vulkan/*.c) $(patsubst %,$(obj)/user/bench/compute/%.o,net builder graph plan_net sequence) \
		$(vulkan_core) $(archives)
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -o $@ $^ $(ldflags) -lvulkan -lm -ldl

$(BUILD)/bench-bin/cache: $(obj)/user/bench/cache.o $(call objects,user/bench/cache/*.c user/bench/compute/net.c \
		user/bench/compute/builder.c user/bench/compute/graph.c user/bench/compute/plan_net.c \
		user/bench/compute/sequence.c user/engine/keeper/cache_index.c \
		user/kit/cache/digest.c user/kit/api/log.c) $(archives) $(libhal)
	@mkdir -p $(@D)
	$(call short,LD)$(CC) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(ldflags) $(call rpath,/../lib) \
		-L$(BUILD)/lib -lnnaccel -lsqlite3 -lcrypto -lm -ldl

$(BUILD)/bench-bin/burst: $(call objects,user/bench/burst/*.c)

bench: $(benches:$(BUILD)/bench-bin/%=bench-%) bench-memory
	@$(MAKE) --no-print-directory bench-plots
# Draws plots of the results in the bench folder; `make doc` shows the plots on the page of
# measurements.
bench-plots:
	user/bench/plot $(BUILD)/bench
bench-%: $(BUILD)/bench-bin/%
	@mkdir -p $(BUILD)/bench
	$< > $(BUILD)/bench/$*.tsv
	column -t -s '	' $(BUILD)/bench/$*.tsv
# Times on an emulated CPU mean nothing, so the bench counts instructions.
ifneq ($(cross),)
bench-compute: $(BUILD)/bench-bin/compute $(BUILD)/bench-bin/count.so
	@mkdir -p $(BUILD)/bench
	scripts/count-arm64 $^ > $(BUILD)/bench/compute.tsv
	column -t -s '	' $(BUILD)/bench/compute.tsv
else
bench-compute: $(BUILD)/bench-bin/compute $(if $(trixie),$(BUILD)/bench-bin/compute-trixie)
	@mkdir -p $(BUILD)/bench
	$< > $(BUILD)/bench/compute.tsv
	$(if $(trixie),$<-trixie >> $(BUILD)/bench/compute.tsv)
	set -e; for level in $(levels); do $< --isa $$level >> $(BUILD)/bench/compute.tsv; done
	BUILD=$(BUILD) scripts/vm -- env NN_BENCH_WHERE=vm $(abspath $<) --vm \
		>> $(BUILD)/bench/compute.tsv
	column -t -s '	' $(BUILD)/bench/compute.tsv
endif
# The emulator loads the plug-in, so the plug-in is built by the compiler of this machine, not by a
# cross compiler.
$(BUILD)/bench-bin/count.so: user/bench/count/plugin.c user/bench/count/mark.h
	@mkdir -p $(@D)
	$(call short,CC)cc -std=gnu11 $(warnings) -O2 -fPIC -fvisibility=hidden -shared -o $@ $<
bench-cache: $(BUILD)/bench-bin/cache
	@mkdir -p $(BUILD)/bench
	$< > $(BUILD)/bench/cache.tsv
	BUILD=$(BUILD) scripts/vm -- $(abspath $<) --vm >> $(BUILD)/bench/cache.tsv
	column -t -s '	' $(BUILD)/bench/cache.tsv
# The bench uses an unpacked TensorFlow Lite with its own loader, which also runs Python.
tflite_lib = $$(scripts/tflite)/usr/lib/x86_64-linux-gnu
bench-tflite: user
	@mkdir -p $(BUILD)/bench
	grep -m 1 'model name' /proc/cpuinfo
	xnnpack=$$(scripts/tflite --xnnpack)/package/cc_deps/linux_amd64/libtensorflowlite_c.so; \
	lib=$(tflite_lib); "$$lib/ld-linux-x86-64.so.2" --library-path \
		"$$lib:/usr/lib/x86_64-linux-gnu" /usr/bin/python3 user/bench/tflite.py \
		"$$lib/libtensorflow-lite.so" $(abspath $(libtflite)) \
		user/clients/tflite/builtins.def "$$xnnpack" > $(BUILD)/bench/tflite.tsv
	column -t -s '	' $(BUILD)/bench/tflite.tsv
bench-memory: $(BUILD)/bench-bin/memory $(BUILD)/bench-bin/uring
	@mkdir -p $(BUILD)/bench
	BUILD=$(BUILD) scripts/vm -- $(abspath $<) > $(BUILD)/bench/memory.tsv
	BUILD=$(BUILD) scripts/vm -- $(abspath $(BUILD)/bench-bin/uring) >> $(BUILD)/bench/memory.tsv
	column -t -s '	' $(BUILD)/bench/memory.tsv
bench-burst: $(BUILD)/bench-bin/burst
	@mkdir -p $(BUILD)/bench
	$< > $(BUILD)/bench/burst.tsv
	BUILD=$(BUILD) scripts/vm -- $(abspath $<) --vm >> $(BUILD)/bench/burst.tsv
	BUILD=$(BUILD) scripts/vm --icount -- $(abspath $<) --icount >> $(BUILD)/bench/burst.tsv
	column -t -s '	' $(BUILD)/bench/burst.tsv

# The plot of the waits needs gnuplot.
bench-waits: $(BUILD)/bench-bin/burst
	@mkdir -p $(BUILD)/bench
	$< --waits > $(BUILD)/bench/waits.tsv
	column -t -s '	' $(BUILD)/bench/waits.tsv
	user/bench/burst/plot $(BUILD)/bench/waits.tsv $(BUILD)/bench/waits.svg

# Measures networks on ONNX Runtime with nnaccel's provider and with ONNX Runtime's own, on one and
# on two threads.
bench-onnxruntime: user
	@mkdir -p $(BUILD)/bench
	set -e; folder=$$(scripts/onnxruntime); nets=$(BUILD)/bench/onnx; \
	export NNACCEL_ONNX_DATA=$$folder/usr/share/libonnx-testdata/data; \
	tests=user/tests/clients/onnxruntime; lib=$(BUILD)/lib/libnnaccel_onnxruntime.so; \
	[ -e $$nets/made ] || { $$folder/bin/python3 $$tests/quantise.py $$NNACCEL_ONNX_DATA $$nets \
		squeezenet shufflenet resnet50 2>/dev/null && \
		$$folder/bin/python3 $$tests/encoders.py $$nets 2>/dev/null && touch $$nets/made; }; \
	for cpus in 0 0-1; do taskset -c $$cpus $$folder/bin/python3 $$tests/bench.py $$lib \
		nnapi-reference $$nets 2>/dev/null; done > $(BUILD)/bench/onnxruntime.tsv
	column -t -s '	' $(BUILD)/bench/onnxruntime.tsv

# Measures models in real use, from npm, on nnaccel and on the CPU of their runtimes, with one and
# with two threads.
bench-models: user
	@mkdir -p $(BUILD)/bench
	set -e; models=$$(scripts/models); onnxruntime=$$(scripts/onnxruntime); tflite=$$(scripts/tflite); \
	{ printf 'figure\tvalue\tunit\tpeer\tpeer_value\tratio\twhere\n'; \
	for cpus in 0 0-1; do BUILD=$(BUILD) taskset -c $$cpus scripts/guest/models $$models $$onnxruntime $$tflite \
		user/bench/models.py $(MODELS); done; } > $(BUILD)/bench/models.tsv
	column -t -s '	' $(BUILD)/bench/models.tsv

# ---- manual pages: of commands' --help, and of headers ----

man	:= $(patsubst %,$(BUILD)/man/man1/nnaccel%.1,$(addprefix -,info stat cache doctor cdi demo run explain bench engine-test) \
	-demo-camera) $(BUILD)/man/man1/nnaccel.1 $(BUILD)/man/man8/nnacceld.8 \
	$(if $(vulkan),$(BUILD)/man/man8/nnaccel-vulkan.8) \
	$(patsubst user/include/nnaccel/%,$(BUILD)/man/man3/nnaccel-%.3,$(wildcard user/include/nnaccel/*.h))
man: $(man)

$(BUILD)/man/man1/nnaccel.1: $(BUILD)/bin/nnaccel scripts/man
	@mkdir -p $(@D)
	$(call short,MAN)scripts/man $(VERSION) 1 nnaccel 'shows and checks neural network accelerators' $< --help > $@
$(BUILD)/man/man1/nnaccel-demo-camera.1: $(BUILD)/bin/nnaccel scripts/man
	@mkdir -p $(@D)
	$(call short,MAN)scripts/man $(VERSION) 1 nnaccel-demo-camera 'reads the frames of a camera on a device' \
		$< demo camera --help > $@
# The summary in a command's manual page is the line of the command in nnaccel --help.
$(BUILD)/man/man1/nnaccel-%.1: $(BUILD)/bin/nnaccel scripts/man
	@mkdir -p $(@D)
	$(call short,MAN)scripts/man $(VERSION) 1 nnaccel-$* "$$($< --help | sed -n 's/^  $* *//p')" $< $* --help > $@
$(BUILD)/man/man8/nnacceld.8: $(BUILD)/sbin/nnacceld scripts/man
	@mkdir -p $(@D)
	$(call short,MAN)scripts/man $(VERSION) 8 nnacceld 'engine of neural network accelerators' $< --help > $@
$(BUILD)/man/man8/nnaccel-vulkan.8: $(BUILD)/sbin/nnaccel-vulkan scripts/man
	@mkdir -p $(@D)
	$(call short,MAN)PATH="$(abspath $(<D)):$$PATH" scripts/man $(VERSION) 8 nnaccel-vulkan 'engine of neural network accelerators on a GPU' nnaccel-vulkan --help > $@
$(BUILD)/man/man3/nnaccel-%.3: user/include/nnaccel/% scripts/man
	@mkdir -p $(@D)
	$(call short,MAN)scripts/man $(VERSION) 3 nnaccel-$* --header $< > $@

# Builds the documentation as web pages; a warning of Sphinx is an error.
doc:
	@user/tests/tables-test
	NNACCEL_VERSION=$(VERSION) NNACCEL_PLOTS=$(abspath $(BUILD))/bench PYTHONDONTWRITEBYTECODE=1 \
		sphinx-build -q -n -W --keep-going -b html -d $(BUILD)/doc.trees Documentation $(BUILD)/doc

# ---- installing ----

define nnaccel_pc
Name: libnnaccel
Description: NNAPI HAL surface over /dev/nnaccel
Version: $(VERSION)
Libs: -L$(LIBDIR) -lnnaccel
Cflags: -I$(PREFIX)/include
endef
define engine_pc
Name: libnnaccel-engine
Description: What engines behind /dev/nnaccel are made of
Version: $(VERSION)
Libs: -L$(LIBDIR) -lnnaccel-engine
Cflags: -I$(PREFIX)/include
endef
define neuralnetworks_pc
Name: libneuralnetworks
Description: NNAPI for Linux
Version: $(VERSION)
Libs: -L$(LIBDIR) -lneuralnetworks -lnativewindow
Cflags: -I$(PREFIX)/include
endef
export nnaccel_pc engine_pc neuralnetworks_pc

dist	:= user/engine/dist
# $(call put,FILES,FOLDER,MODE) installs files in a folder, or does nothing if FILES is empty.
put	= $(if $(1),install -D -m $(3) -t $(DESTDIR)$(2) $(1))

install: user man
	$(call put,$(versioned),$(LIBDIR),755)
	$(foreach l,$(notdir $(versioned)),ln -sf $(l) $(DESTDIR)$(LIBDIR)/$(basename $(l)) &&) true
	$(call put,$(libsl) $(libtflite) $(libonnx) $(librun),$(PLUGINDIR),755)
	$(call put,$(run_python),$(PLUGINDIR)/nnaccel-python,644)
	$(call put,$(wildcard $(BUILD)/bin/nnaccel),$(PREFIX)/bin,755)
	$(call put,$(wildcard $(patsubst %,$(BUILD)/sbin/%,nnacceld $(if $(vulkan),nnaccel-vulkan))),$(PREFIX)/sbin,755)
	$(call put,$(patsubst %,$(BUILD)/sbin/nnaccel-%,keeper worker),$(PREFIX)/libexec/nnaccel,755)
	$(foreach s,1 3 8,$(call put,$(filter %.$(s),$(man)),$(PREFIX)/share/man/man$(s),644) &&) true
	install -D -m 644 user/tools/dist/nnaccel.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/nnaccel
	ln -sf nnaccel $(DESTDIR)$(PREFIX)/share/bash-completion/completions/nnacceld
	$(call put,user/tools/dist/_nnaccel,$(PREFIX)/share/zsh/vendor-completions,644)
	$(call put,user/tools/dist/nnaccel.fish,$(PREFIX)/share/fish/vendor_completions.d,644)
	$(call put,$(wildcard user/include/android/*.h),$(PREFIX)/include/android,644)
	$(call put,$(wildcard user/include/nnaccel/*.h),$(PREFIX)/include/nnaccel,644)
	$(call put,include/uapi/linux/nnaccel.h,$(PREFIX)/include/linux,644)
	$(call put,$(wildcard $(dist)/*.rules),/usr/lib/udev/rules.d,644)
	install -D -m 644 $(dist)/nnaccel-sysusers.conf $(DESTDIR)/usr/lib/sysusers.d/nnaccel.conf
	sed 's,@PREFIX@,$(PREFIX),g' $(dist)/nnacceld.service | \
		install -D -m 644 /dev/stdin $(DESTDIR)/usr/lib/systemd/system/nnacceld.service
	sed 's,@PREFIX@,$(PREFIX),g' $(dist)/nnacceld.service | scripts/unit-template | \
		install -D -m 644 /dev/stdin $(DESTDIR)/usr/lib/systemd/system/nnacceld@.service
	$(if $(vulkan),sed 's$(comma)@PREFIX@$(comma)$(PREFIX)$(comma)g' user/vulkan/dist/nnaccel-vulkan@.service | \
		install -D -m 644 /dev/stdin $(DESTDIR)/usr/lib/systemd/system/nnaccel-vulkan@.service)
	echo "$$nnaccel_pc" | \
		install -D -m 644 /dev/stdin $(DESTDIR)$(LIBDIR)/pkgconfig/libnnaccel.pc
	echo "$$neuralnetworks_pc" | \
		install -D -m 644 /dev/stdin $(DESTDIR)$(LIBDIR)/pkgconfig/libneuralnetworks.pc
	echo "$$engine_pc" | \
		install -D -m 644 /dev/stdin $(DESTDIR)$(LIBDIR)/pkgconfig/libnnaccel-engine.pc
	$(if $(DESTDIR),,ldconfig)

clean:
	rm -rf $(BUILD)

-include $(shell find $(obj) $(fuzz_obj) -name '*.d' 2>/dev/null)
