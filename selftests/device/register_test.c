// SPDX-License-Identifier: GPL-2.0-only
/* REGISTER: refused arguments, and sizes that exceed any memory. */
#include <errno.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/one_rank.h"

/* A size beyond any memory is refused without an attempt to allocate its page list. */
TEST_F(one_rank, enormous)
{
	__u32 buffer;
	__u64 length;
	int err, bit;

	for (bit = 30; bit < 64; bit++) {
		length = 1ULL << bit;
		err = member_register(self->fd, self->memory, length, 0, &buffer);
		EXPECT_TRUE(err == -EFAULT || err == -ENOMEM || err == -EOVERFLOW || err == -EDQUOT)
			TH_LOG("register 1 << %d: %d", bit, err);
		err = member_allreduce(self->fd, self->memory, self->memory, length,
				       COLLECTIVE_UINT8, COLLECTIVE_SUM);
		EXPECT_TRUE(err == -EFAULT || err == -ENOMEM || err == -EOVERFLOW || err == -EDQUOT)
			TH_LOG("submit 1 << %d: %d", bit, err);
	}
	EXPECT_EQ(0, process_value(0, "VmPin:"));
	EXPECT_EQ(0, member_barrier(self->fd));
}

TEST_F(one_rank, bad_registration)
{
	struct collective_register reg;
	__u32 buffer;

#define EXPECT_REGISTER(_error, _change) do {						\
	reg = (struct collective_register) {						\
		.size = sizeof(reg),							\
		.addr = (uintptr_t)self->memory,					\
		.length = 4096,								\
	};										\
	_change;									\
	EXPECT_EQ(_error, member_ioctl(self->fd, COLLECTIVE_IOC_REGISTER, &reg))	\
		TH_LOG("%s", #_change);							\
} while (0)
	EXPECT_REGISTER(-EINVAL, reg.length = 0);
	EXPECT_REGISTER(-EINVAL, reg.flags = 2);
	EXPECT_REGISTER(-EINVAL, reg.buffer = 1);
	EXPECT_REGISTER(-EINVAL, reg.reserved = 1);
	EXPECT_REGISTER(-EFAULT, reg.addr = 0);
	EXPECT_REGISTER(-EFAULT, reg.addr = 0xffff888000000000ULL);
	EXPECT_REGISTER(-EOVERFLOW, reg.length = ~0ULL);
	EXPECT_REGISTER(-EOVERFLOW, (reg.addr = 4096, reg.length = ~0ULL - 4095));
	EXPECT_EQ(0, process_value(0, "VmPin:"));
	EXPECT_REGISTER(0, (void)0);
	EXPECT_EQ(1, reg.buffer);
	EXPECT_EQ(-ENOENT, member_unregister(self->fd, 0));
	EXPECT_EQ(-ENOENT, member_unregister(self->fd, 2));
	EXPECT_EQ(-ENOENT, member_unregister(self->fd, ~0U));
	EXPECT_EQ(0, member_unregister(self->fd, 1));
	EXPECT_EQ(-ENOENT, member_unregister(self->fd, 1));
	EXPECT_EQ(0, member_register(self->fd, self->memory, 1, 0, &buffer));
}

TEST_HARNESS_MAIN
