/* SPDX-License-Identifier: GPL-2.0-only */
/* The instruction by which a program marks a moment for the plugin. */
#ifndef MARK_H
#define MARK_H

/* No program moves this number to a register for another purpose. */
#define COUNT_MARK 0x7c6f11edu

/* Makes the plugin write how many instructions the machine has executed. */
static inline void count_mark(void)
{
	__asm__ volatile("movl %0, %%eax" : : "i" (COUNT_MARK) : "eax");
}

#endif
