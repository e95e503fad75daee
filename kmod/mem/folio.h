/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_FOLIO_H
#define COLL_FOLIO_H

#include <linux/types.h>

struct page;
struct user_struct;

int coll_folios_charge(struct page **pages, unsigned long n, struct user_struct *user,
		       bool *shared);
unsigned long coll_folios_uncharge(struct page **pages, unsigned long n, struct user_struct *user);
int coll_folios_setup(void);
void coll_folios_cleanup(void);

#endif /* COLL_FOLIO_H */
