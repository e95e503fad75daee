// SPDX-License-Identifier: GPL-2.0-only
/*
 * The specification says what the kernel sends: the kernel's own YNL tool, which knows nothing
 * but Documentation/netlink/collective.yaml, decodes every message.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/any_kernel.h"
#include "lib/any_transport.h"
#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/two_ranks.h"

#define YNL "PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 %s/ynl/cli.py --no-schema --output-json " \
	    "--spec %s/ynl/collective.yaml"

/* Run a command. Return: its exit status. */
static int run(const char *format, ...)
{
	char line[1024];
	va_list args;
	int status;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	status = system(line);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The folder of this program has the tool and the specification. */
static void ynl_command(char *command, size_t size)
{
	char path[400];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n < 0 ? 0 : n] = '\0';
	*strrchr(path, '/') = '\0';
	snprintf(command, size, YNL, path, path);
}

/* Is a condition of jq true for what a dump says of a group? */
static bool dump(const char *ynl, const char *object, const char *group, const char *condition)
{
	return !run("%s --dump %s-get --json '{\"group\": \"%s\"}' >/tmp/ynl.json &&\n"
		    "jq -e '%s' /tmp/ynl.json >/dev/null || { cat /tmp/ynl.json; exit 1; }",
		    ynl, object, group, condition);
}

TEST_F_TIMEOUT(two_ranks, specification, 200)
{
	static __u8 memory[8192] __attribute__((aligned(4096)));
	struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	char ynl[1024];
	__u32 buffer;
	__u64 id;

	if (run("/usr/bin/python3 -c 'import yaml' 2>/dev/null && jq --version >/dev/null 2>&1"))
		SKIP(return, "no python3-yaml or no jq");
	ynl_command(ynl, sizeof(ynl));
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, member_register(self->fd[0], memory, sizeof(memory), 0, &buffer));
	ASSERT_EQ(0, member_start(self->fd[0], &barrier, &id));
	EXPECT_TRUE(dump(ynl, "group", self->name, ".[0].size == 2"));
	EXPECT_TRUE(dump(ynl, "member", self->name, ".[1].state == \"up\""));
	EXPECT_TRUE(dump(ynl, "lane", self->name, ".[1].traffic.sent >= 0"));
	EXPECT_TRUE(dump(ynl, "link", self->name, ".[0].connection[1].state == \"open\""));
	EXPECT_TRUE(dump(ynl, "request", self->name, ".[0].call.opcode == \"barrier\""));
	EXPECT_TRUE(dump(ynl, "request", self->name, ".[0][\"waits-for\"] == [1]"));
	EXPECT_TRUE(dump(ynl, "buffer", self->name, ".[0].length == 8192"));
	EXPECT_TRUE(dump(ynl, "record", self->name, ".[0].kind == \"state\""));
	EXPECT_TRUE(dump(ynl, "time", self->name, ".[0].opcode == \"barrier\""));
	EXPECT_EQ(0, run("%s --do group-abort --json '{\"group\": \"%s\"}' >/dev/null", ynl,
			 self->name));
	EXPECT_EQ(-ECANCELED, member_wait(self->fd[0], id, 0));
	EXPECT_TRUE(dump(ynl, "member", self->name, ".[0].reason.kind == \"cancelled\""));
	EXPECT_NE(0, run("%s --do group-abort --json '{\"group\": \"none\"}' >/dev/null 2>&1",
			 ynl));
}

TEST_HARNESS_MAIN
