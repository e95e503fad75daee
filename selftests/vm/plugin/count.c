// SPDX-License-Identifier: GPL-2.0-only
/*
 * A TCG plugin: counts the instructions of the emulated machine, user and kernel.
 *
 * A program in the machine marks a moment by an instruction, which the plugin knows by its
 * bytes: a move of COUNT_MARK to EAX.  Each mark appends the number of instructions so far to
 * the file of the argument "out".  The machine must have one virtual CPU.
 *
 * A whole block of instructions is added when it starts.  A block that a fault or an
 * interrupt leaves early is counted in full, so a count has an error of a few
 * instructions an interrupt.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <qemu-plugin.h>

#include "mark.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static uint64_t count;
static FILE *out;

static void marked(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	fprintf(out, "%" PRIu64 "\n", count);
	fflush(out);
}

static bool is_mark(const struct qemu_plugin_insn *insn)
{
	static const uint8_t mark[] = { 0xb8, COUNT_MARK & 0xff, COUNT_MARK >> 8 & 0xff,
					COUNT_MARK >> 16 & 0xff, COUNT_MARK >> 24 };

	return qemu_plugin_insn_size(insn) == sizeof(mark) &&
	       !memcmp(qemu_plugin_insn_data(insn), mark, sizeof(mark));
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), i;
	struct qemu_plugin_insn *insn;

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &count, n);
	for (i = 0; i < n; i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		if (is_mark(insn))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, marked,
							       QEMU_PLUGIN_CB_NO_REGS, NULL);
	}
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
					   char **argv)
{
	if (argc != 1 || strncmp(argv[0], "out=", 4) || !info->system_emulation ||
	    info->system.max_vcpus != 1)
		return -1;
	out = fopen(argv[0] + 4, "w");
	if (!out)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
