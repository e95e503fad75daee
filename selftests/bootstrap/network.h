/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NETWORK_H
#define NETWORK_H

#include <stdbool.h>

/*
 * Enter a network namespace with 127.0.0.1, ::1, 10.77.0.1 to 10.77.0.3, fd77::1 and fd77::2.
 * Return: false if this process may not.
 */
bool network_enter(void);

#endif /* NETWORK_H */
