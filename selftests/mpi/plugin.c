// SPDX-License-Identifier: GPL-2.0-only
/* Opens a plug-in that brings MPI along, as Python does with mpi4py, and runs its main(). */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int (*run)(int argc, char **argv);
	void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;

	*(void **)&run = plugin ? dlsym(plugin, "main") : NULL;
	if (!run) {
		printf("plugin: %s\n", dlerror());
		return 1;
	}
	return run(argc, argv);
}
