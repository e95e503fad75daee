// SPDX-License-Identifier: GPL-2.0-only
/* The command collectivectl: each object and verb, as a table and as JSON. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "lib/any_kernel.h"
#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/two_ranks.h"

#define PATIENCE_MS	20000

static char output[1 << 18];

/* Run a command. Return: its exit status; @output has what it printed. */
static int run(const char *format, ...)
{
	char line[512];
	size_t n = 0, got;
	va_list args;
	FILE *pipe;
	int status;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	pipe = popen(line, "r");
	if (!pipe)
		return -1;
	while ((got = fread(output + n, 1, sizeof(output) - 1 - n, pipe)))
		n += got;
	output[n] = '\0';
	status = pclose(pipe);
	if (!WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* Is a condition of jq true for the JSON of a command? */
static bool json(const char *command, const char *name, const char *condition)
{
	bool is = !run("collectivectl -j %s show %s | jq -e '%s' 2>&1", command, name, condition);

	if (!is)
		printf("# %s: %s", command, output);
	return is;
}

static bool printed(const char *text)
{
	bool is = strstr(output, text);

	if (!is)
		printf("# not in: %s", output);
	return is;
}

static bool unavailable(void)
{
	return system("collectivectl --version >/dev/null 2>&1 && jq --version >/dev/null 2>&1");
}

#define UNAVAILABLE	"no collectivectl or no jq in PATH"

TEST_F(two_ranks, objects)
{
	static __u8 memory[8192] __attribute__((aligned(4096)));
	struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	bool tcp = transport_choice(NULL) == COLLECTIVE_TRANSPORT_TCP;
	__u32 buffer;
	__u64 id;

	if (unavailable())
		SKIP(return, UNAVAILABLE);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, member_register(self->fd[0], memory, sizeof(memory), 0, &buffer));
	ASSERT_EQ(0, member_start(self->fd[0], &barrier, &id));
	EXPECT_TRUE(json("group", self->name, ".groups[0] | .ranks == 2 and .here == 2"));
	EXPECT_TRUE(json("member", self->name,
			 "[.members[] | .state == \"up\" and .rank < 2] == [true, true]"));
	EXPECT_TRUE(json("lane", self->name, "[.lanes[].lane] == [0, 0]"));
	EXPECT_TRUE(json("link", self->name, tcp ?
			 "(.links | length == 4) and .links[1].transport == \"tcp\"" :
			 "(.links | length == 4) and .links[1].transport == \"local\""));
	EXPECT_TRUE(json("request", self->name, ".requests | length == 1"));
	EXPECT_TRUE(json("request", self->name, ".requests[0].opcode == \"barrier\""));
	EXPECT_TRUE(json("request", self->name, ".requests[0][\"waits-for\"] == \"1\""));
	EXPECT_TRUE(json("buffer", self->name, ".buffers[0].length == 8192"));
	EXPECT_TRUE(json("record", self->name,
			 "[.records[] | select(.event == \"submit\")] | length == 1"));

	/* The same as tables, abbreviated. */
	EXPECT_EQ(0, run("collectivectl req sh %s 0", self->name));
	EXPECT_TRUE(printed("WAITS-FOR") && printed("barrier"));
	EXPECT_EQ(0, run("collectivectl -H mem sh %s 1", self->name));
	EXPECT_EQ(NULL, strstr(output, "STATE"));
	EXPECT_TRUE(printed(" up "));
	EXPECT_EQ(0, run("collectivectl show %s", self->name));
	EXPECT_TRUE(printed("SLOW-PERCENT") && printed("INFLIGHT"));
	EXPECT_EQ(0, run("collectivectl -j show %s | jq -s -e '%s'", self->name,
			 "map([(.groups, .members) | length]) == [[1, 2]]"));
	EXPECT_EQ(0, run("collectivectl -j show %s 7 | jq -s -e '%s'", self->name,
			 "map(.groups | length) == [1]"));
	EXPECT_EQ(0, run("collectivectl -j feature | jq -e '%s'",
			 ".features[] | select(.feature == \"ranks-max\") | .value == \"1024\""));
	EXPECT_EQ(0, run("collectivectl -d record show"));
	EXPECT_TRUE(printed("TIME-NS"));
}

/* Every object as a table and as JSON: the columns of one are the fields of the other. */
static bool columns_are_fields(const char *object, const char *verb, const char *name)
{
	static char columns[sizeof(output)];

	if (run("collectivectl -d %s %s %s | head -n 1 | tr 'A-Z' 'a-z' | xargs", object, verb,
		name) || !*output)
		return false;
	memcpy(columns, output, sizeof(columns));
	if (run("collectivectl -j %s %s %s | jq -r 'map(.)[0][0] | keys_unsorted | join(\" \")'",
		object, verb, name))
		return false;
	if (strcmp(columns, output))
		printf("# %s %s: %s# JSON: %s", object, verb, columns, output);
	return !strcmp(columns, output);
}

TEST_F(two_ranks, columns)
{
	static const char * const shown[] = {
		"group", "member", "lane", "link", "request", "buffer", "record", "time", "rank",
	};
	static __u8 memory[8192] __attribute__((aligned(4096)));
	struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	__u32 buffer;
	__u64 id;
	size_t i;

	if (unavailable())
		SKIP(return, UNAVAILABLE);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, member_register(self->fd[0], memory, sizeof(memory), 0, &buffer));
	ASSERT_EQ(0, member_start(self->fd[0], &barrier, &id));
	EXPECT_EQ(0, member_barrier(self->fd[1]));
	ASSERT_EQ(0, member_wait(self->fd[0], id, 0));
	ASSERT_EQ(0, member_start(self->fd[0], &barrier, &id));
	for (i = 0; i < ARRAY_SIZE(shown); i++)
		EXPECT_TRUE(columns_are_fields(shown[i], "show", self->name));
	EXPECT_TRUE(columns_are_fields("time", "histogram", self->name));
	EXPECT_TRUE(columns_are_fields("time", "straggler", self->name));
	EXPECT_TRUE(columns_are_fields("feature", "", ""));
}

#define COMPLETIONS	"tools/completion"

/* The completions offer the objects and verbs that the help names. */
TEST(completion)
{
	char words[1024], *word, *rest = words;

	if (unavailable() || access(COMPLETIONS, R_OK))
		SKIP(return, "no collectivectl, or not in the source tree");
	EXPECT_EQ(0, run("bash -c '. %s/collectivectl; %s; echo ${COMPREPLY[*]}'", COMPLETIONS,
			 "COMP_WORDS=(collectivectl \"\") COMP_CWORD=1; _collectivectl"));
	EXPECT_TRUE(printed("group member lane link request buffer record time rank show ") &&
		    printed(" monitor why top metrics cancel abort feature check help\n"));
	snprintf(words, sizeof(words), "%.1000s", output);
	while ((word = strtok_r(rest, "\n ", &rest))) {
		EXPECT_EQ(0, run("grep -- \"'%s:\" %s/_collectivectl", word, COMPLETIONS));
		EXPECT_EQ(0, run("collectivectl help | grep -w %s", word));
	}
}

TEST_F(two_ranks, verbs)
{
	struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	__u64 id;

	if (unavailable())
		SKIP(return, UNAVAILABLE);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	EXPECT_EQ(0, run("collectivectl group set %s timeout 9000 slow 20", self->name));
	EXPECT_TRUE(json("group", self->name,
			 ".groups[0] | .[\"timeout-ms\"] == 9000 and .[\"slow-percent\"] == 20"));
	EXPECT_EQ(0, run("collectivectl group set %s timeout none", self->name));
	EXPECT_EQ(0, run("collectivectl group show %s", self->name));
	EXPECT_TRUE(printed(" none "));
	EXPECT_EQ(0, run("collectivectl -H -d member show %s", self->name));
	EXPECT_TRUE(printed(" none "));
	EXPECT_TRUE(json("group", self->name, ".groups[0][\"timeout-ms\"] == 4294967295"));
	EXPECT_EQ(2, run("collectivectl group set %s slow 101 2>&1", self->name));
	EXPECT_TRUE(printed("101 is no percentage"));
	EXPECT_EQ(0, run("collectivectl lane set %s 1 0 cpu 0", self->name));
	EXPECT_TRUE(json("lane", self->name, "[.lanes[] | select(.rank == 1) | .cpu] == [0]"));
	ASSERT_EQ(0, member_start(self->fd[0], &barrier, &id));
	EXPECT_EQ(0, run("collectivectl request cancel %s 0 %llu", self->name, id));
	EXPECT_EQ(-ECANCELED, member_wait(self->fd[0], id, 0));
	EXPECT_EQ(1, run("collectivectl cancel %s 0 %llu 2>&1", self->name, id));
	EXPECT_TRUE(printed("no such request is in flight"));
	EXPECT_EQ(0, run("collectivectl group abort %s", self->name));
	EXPECT_EQ(-ECANCELED, member_barrier(self->fd[0]));
	EXPECT_EQ(1, run("collectivectl abort no.such.group 2>&1"));
	EXPECT_TRUE(printed("no such group in this network namespace"));
	EXPECT_EQ(1, run("collectivectl member show no.such.group 2>&1"));
	EXPECT_EQ(2, run("collectivectl member fly 2>&1"));
	EXPECT_EQ(2, run("collectivectl group set %s slow 2>&1", self->name));
	EXPECT_EQ(2, run("collectivectl 2>&1"));
	EXPECT_EQ(0, run("collectivectl help"));
	EXPECT_TRUE(printed("why") && printed("record"));
	EXPECT_EQ(0, run("collectivectl --version"));
}

TEST_F(two_ranks, why)
{
	struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	char data = 0;
	struct collective_op broadcast = {
		.opcode = COLLECTIVE_BROADCAST,
		.count = 1,
		.send = (uintptr_t)&data,
		.recv = (uintptr_t)&data,
	};
	struct utsname host;
	char text[200];
	__u64 id;

	if (unavailable())
		SKIP(return, UNAVAILABLE);
	EXPECT_EQ(11, run("collectivectl why %s", self->name));
	EXPECT_TRUE(printed(": INCOMPLETE: no rank of this host has called CONNECT"));
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	EXPECT_EQ(0, run("collectivectl why %s", self->name));
	EXPECT_TRUE(printed(": OK: all 2 ranks answer, and nothing waits"));
	ASSERT_EQ(0, member_start(self->fd[0], &barrier, &id));
	sleep_ms(1300);
	EXPECT_EQ(11, run("collectivectl why %s", self->name));
	uname(&host);
	snprintf(text, sizeof(text), ": INCOMPLETE: rank 1 (pid %u on %s) has not called", getpid(),
		 host.nodename);
	EXPECT_TRUE(printed(text));
	EXPECT_TRUE(printed("has not called barrier #0; 1 rank has waited "));
	EXPECT_LE(1, atof(strstr(output, " has waited ") + strlen(" has waited ")));
	EXPECT_EQ(11, run("collectivectl -j why %s", self->name));
	EXPECT_EQ(0, run("collectivectl -j why %s | jq -e '.why[0] | %s'", self->name,
			 ".verdict == \"INCOMPLETE\" and .rank == 1 and .silent == 0"));
	EXPECT_EQ(-EBADMSG, member_submit(self->fd[1], &broadcast));
	EXPECT_EQ(-EBADMSG, member_wait(self->fd[0], id, 0));
	sleep_ms(1100);
	EXPECT_EQ(12, run("collectivectl why %s", self->name));
	EXPECT_TRUE(printed("the calls of operation #0 differ"));
	/* A success afterwards ends it. */
	ASSERT_EQ(0, member_start(self->fd[0], &barrier, &id));
	EXPECT_EQ(0, member_barrier(self->fd[1]));
	EXPECT_EQ(0, member_wait(self->fd[0], id, 0));
	sleep_ms(1100);
	EXPECT_EQ(0, run("collectivectl why %s", self->name));
	EXPECT_EQ(0, run("collectivectl abort %s", self->name));
	sleep_ms(1100);
	EXPECT_EQ(13, run("collectivectl why %s", self->name));
	EXPECT_TRUE(printed(": DEAD: the group has failed: cancelled of rank 0"));
	EXPECT_EQ(1, run("collectivectl why no.such.group 2>&1"));
}

TEST_F(two_ranks, ranks)
{
	struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	__u64 id;

	if (unavailable())
		SKIP(return, UNAVAILABLE);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, member_start(self->fd[0], &barrier, &id));
	EXPECT_TRUE(json("rank", self->name, "[.ranks[].answered] == [true, true]"));
	EXPECT_TRUE(json("rank", self->name,
			 ".ranks[0] | .oldest == \"barrier #0\" and .[\"waits-for\"] == \"1\""));
	EXPECT_TRUE(json("rank", self->name, ".ranks[1] | .counted == 0 and .oldest == null"));
	EXPECT_EQ(0, run("collectivectl rank show %s 1", self->name));
	EXPECT_TRUE(printed("WAITS-FOR") && printed(" up "));
	EXPECT_EQ(NULL, strstr(output, "barrier"));
	EXPECT_EQ(0, run("collectivectl rank"));
	EXPECT_EQ(1, run("collectivectl rank show no.such.group 2>&1"));
	EXPECT_TRUE(printed("no such group in this network namespace"));
}

/* How often both monitors have told that a rank of a group has left. */
#define LEFT "select(.group == \"%s\" and .event == \"left\")"

/* Wait until both monitors have told that @ranks ranks of a group have left, and the last one. */
static bool monitors_heard(const char *name, unsigned int ranks, unsigned int ms)
{
	const __u64 end = now_ms() + ms;

	while (run("grep -q '%s.* rank %u left' /tmp/monitor.text", name, ranks - 1) ||
	       run("jq -s -e '[.[].events[] | " LEFT "] | length == %u' /tmp/monitor.json 2>&1",
		   name, ranks)) {
		if (now_ms() > end)
			return false;
		sleep_ms(50);
	}
	return true;
}

/* Join groups until the monitors, which have been started, tell of one. */
static bool monitors_hear(void)
{
	struct sockaddr_storage addr;
	unsigned int i;
	char name[33];
	__u64 id;
	int fd;

	for (i = 0; i < 20; i++) {
		group_unique(name, sizeof(name), &id);
		fd = member_open();
		if (member_join(fd, name, id, 0, 1, &addr))
			return false;
		close(fd);
		if (monitors_heard(name, 1, 1000))
			return true;
	}
	return false;
}

/* Two monitors, one of them as JSON, hear of a group that lives and is aborted. */
TEST(monitor)
{
	struct sockaddr_storage addr[2];
	char name[33];
	int fd[2], i;
	__u64 id;

	if (unavailable())
		SKIP(return, UNAVAILABLE);
	ASSERT_EQ(0, system("rm -f /tmp/monitor.*\n"
			    "collectivectl monitor >/tmp/monitor.text &\n"
			    "echo $! >/tmp/monitor.pid\n"
			    "collectivectl -j monitor >/tmp/monitor.json &\n"
			    "echo $! >>/tmp/monitor.pid"));
	ASSERT_TRUE(monitors_hear());
	ASSERT_EQ(0, two_ranks_join(fd, addr, name, &id));
	ASSERT_EQ(0, two_ranks_connect(fd, addr));
	EXPECT_EQ(0, run("collectivectl abort %s", name));
	for (i = 0; i < 2; i++)
		close(fd[i]);
	EXPECT_TRUE(monitors_heard(name, 2, 20000));
	EXPECT_EQ(0, run("kill $(cat /tmp/monitor.pid); cat /tmp/monitor.text"));
	EXPECT_TRUE(printed("rank 0 joined (pid ") && printed("rank 1 up") &&
		    printed("rank 0 aborted: cancelled of rank 0"));
	EXPECT_EQ(0, run("jq -s -c '[.[].events[] | select(.group == \"%s\") | .event]' %s", name,
			 "/tmp/monitor.json"));
	EXPECT_TRUE(printed("\"joined\"") && printed("\"aborted\"") && printed("\"left\""));
}

#define DASHBOARD	"examples/grafana/collective.json"

TEST_F(two_ranks, metrics)
{
	if (unavailable())
		SKIP(return, UNAVAILABLE);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	EXPECT_EQ(0, run("collectivectl metrics"));
	EXPECT_TRUE(printed("# TYPE collective_operations_submitted_total counter\n"));
	EXPECT_EQ(0, run("collectivectl metrics /tmp/collective.prom && cat /tmp/collective.prom"));
	EXPECT_EQ(0, run("grep -c '^collective_member_state{group=\"%s\",.*,state=\"up\"} 1$' %s",
			 self->name, "/tmp/collective.prom"));
	EXPECT_TRUE(printed("2\n"));
	EXPECT_EQ(0, run("grep '^collective_link_open{group=\"%s\",rank=\"0\",peer=\"1\"} 1$' %s",
			 self->name, "/tmp/collective.prom"));
	EXPECT_EQ(2, run("collectivectl metrics /nowhere/file 2>&1"));
	/* The name of the new file cannot be guessed, so a link is not followed. */
	EXPECT_EQ(0, run("cd /tmp && rm -rf prom && mkdir prom && cd prom && echo kept >v && %s",
			 "sh -c 'ln -s v file.$$; exec collectivectl metrics file'"));
	EXPECT_EQ(0, run("cat /tmp/prom/v && stat -c '%%A' /tmp/prom/file"));
	EXPECT_TRUE(printed("kept\n-rw-r--r--\n"));
	/* The dashboard asks for metrics that there are. */
	if (!access(DASHBOARD, R_OK)) {
		EXPECT_EQ(0, run("jq -r '.. | .expr? // empty' %s | %s | %s >/tmp/asked.prom",
				 DASHBOARD, "grep -o 'collective_[a-z_]*'",
				 "sed 's/_\\(bucket\\|sum\\|count\\)$//'"));
		EXPECT_EQ(0, run("grep -c '^collective_operation_seconds$' /tmp/asked.prom"));
		EXPECT_EQ(0, run("while read -r name; do %s; done </tmp/asked.prom",
				 "grep \"^# TYPE $name \" /tmp/collective.prom || exit"));
	}
	if (system("promtool --version >/dev/null 2>&1"))
		SKIP(return, "no promtool in PATH");
	EXPECT_EQ(0, run("promtool check metrics </tmp/collective.prom 2>&1"));
}

/* Rank 1 calls two barriers a tenth of a second late. */
static int late_barriers(const int *fd)
{
	struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	int i, err = 0;
	__u64 id;

	for (i = 0; !err && i < 2; i++) {
		err = member_start(fd[0], &barrier, &id);
		sleep_ms(100);
		if (!err)
			err = member_barrier(fd[1]) ?: member_wait(fd[0], id, 0);
	}
	return err;
}

/* Some tenths of a second, or some seconds. */
#define TENTHS	"\\(0[.][1-9]\\|[1-9][.]\\)"

static bool metric(const char *pattern)
{
	return !run("grep '^collective_%s' /tmp/times.prom", pattern);
}

TEST_F(two_ranks, times)
{
	if (unavailable())
		SKIP(return, UNAVAILABLE);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	EXPECT_TRUE(json("time", self->name, ".times == []"));
	ASSERT_EQ(0, late_barriers(self->fd));
	EXPECT_TRUE(json("time", self->name, ".times | length == 2"));
	EXPECT_TRUE(json("time", self->name, ".times[0].opcode == \"barrier\""));
	EXPECT_TRUE(json("time", self->name, ".times[0].ops == 2"));
	EXPECT_TRUE(json("time", self->name,
			 ".times[0] | .waiting > 90000000 and .moving < .waiting"));
	EXPECT_TRUE(json("time", self->name, ".times[0][\"waited-for\"] == \"1:100%\""));
	EXPECT_TRUE(json("time", self->name, ".times[0] | .p50 >= 134217728 and .p99 >= .p50"));
	EXPECT_EQ(0, run("collectivectl time show %s 0", self->name));
	EXPECT_TRUE(printed("WAITED-FOR") && printed("barrier") && printed("1:100%"));
	EXPECT_EQ(0, run("collectivectl -j time histogram %s 0 | jq -e '%s'", self->name,
			 "[.histograms[] | select(.time == \"latency\") | .ops] | add == 2"));
	EXPECT_EQ(0, run("collectivectl -j time straggler %s | jq -e '%s'", self->name,
			 "[.stragglers[] | select(.straggler) | .rank] == [1]"));
	EXPECT_EQ(0, run("collectivectl time straggler"));
	EXPECT_TRUE(printed("STRAGGLER") && printed("yes"));
	EXPECT_EQ(1, run("collectivectl time show no.such.group 2>&1"));
	EXPECT_EQ(2, run("collectivectl time fly 2>&1"));

	EXPECT_EQ(0, run("collectivectl metrics | grep '{group=\"%s\"' >/tmp/times.prom",
			 self->name));
	EXPECT_TRUE(metric("operation_seconds_count.*rank=\"1\",collective=\"barrier\"} 2$"));
	EXPECT_TRUE(metric("operation_waiting_seconds_bucket.*rank=\"0\".*0.067108864\"} 0$"));
	EXPECT_TRUE(metric("operation_waiting_seconds_bucket.*rank=\"0\".*+Inf\"} 2$"));
	/* A busy machine adds to them. */
	EXPECT_TRUE(metric("operation_moving_seconds_sum.*rank=\"0\".*} [0-9][.]"));
	EXPECT_TRUE(metric("waited_seconds_total.*rank=\"0\".*peer=\"1\"} " TENTHS));
}

/* What is no file of records, and formats that there are not. */
TEST(records_refused)
{
	if (unavailable())
		SKIP(return, UNAVAILABLE);
	EXPECT_EQ(2, run("collectivectl record merge /tmp/none.json 2>&1"));
	EXPECT_STREQ("collectivectl: /tmp/none.json: No such file or directory\n", output);
	EXPECT_EQ(2, run("collectivectl record merge /dev/null 2>&1"));
	EXPECT_STREQ("collectivectl: /dev/null: no JSON\n", output);
	EXPECT_EQ(2, run("collectivectl record merge 2>&1"));
	EXPECT_EQ(2, run("collectivectl --format xml record show 2>&1"));
	EXPECT_EQ(2, run("collectivectl --format chrome group show 2>&1"));
	EXPECT_TRUE(printed("group is not shown in the format chrome"));
}

#define SLICES	"[.traceEvents[] | select(.ph == \"X\")] | length == 4 and "

/* Records as a timeline, and of two hosts, one of which has a clock that is wrong by an hour. */
TEST_F(two_ranks, timeline)
{
	if (unavailable())
		SKIP(return, UNAVAILABLE);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, late_barriers(self->fd));
	EXPECT_EQ(0, run("collectivectl record show %s --format chrome | jq -e '%s'", self->name,
			 SLICES "all(.name | startswith(\"barrier #\"))"));
	/* The name of the host is in the records, and may have any bytes. */
	EXPECT_EQ(0, run("unshare -u sh -c '%s; %s' | jq -r '.records[0].host' | tr -d '\\n'",
			 "printf \"e\\\"\\\\377l\\\\001\" >/proc/sys/kernel/hostname",
			 "collectivectl -j record"));
	EXPECT_STREQ("e\"?l?", output);
	EXPECT_EQ(0, run("collectivectl -j record show %s 0 >/tmp/0.json", self->name));
	EXPECT_EQ(0, run("collectivectl -j record show %s 1 | jq '%s' >/tmp/1.json", self->name,
			 ".records |= map(.[\"realtime-ns\"] += 3.6e12 | .host = \"far\")"));
	EXPECT_EQ(0, run("cd /tmp && collectivectl -f chrome %s >merge.json 2>merge.log",
			 "record merge 0.json 1.json 0.json"));
	EXPECT_EQ(0, run("cat /tmp/merge.log"));
	EXPECT_TRUE(printed("the clock of far is set by -3"));
	EXPECT_EQ(0, run("jq -e '%s' /tmp/merge.json", SLICES "all(.ts < 1e7)"));
	/* Rank 1 is late, whatever the hour is. */
	EXPECT_EQ(0, run("jq -e '%s' /tmp/merge.json",
			 SLICES "all(.pid == 1 or .args.after_first_rank_us > 20000)"));
	EXPECT_EQ(0, run("collectivectl record merge /tmp/1.json /tmp/1.json"));
	EXPECT_TRUE(printed("HOST") && printed("far"));
	EXPECT_EQ(0, run("collectivectl -j record merge /tmp/0.json /tmp/1.json | jq -e '%s'",
			 "[.records[] | select(.event == \"submit\").host] | unique[1]"));
	EXPECT_EQ(2, run("echo '{}' >/tmp/2.json; collectivectl record merge /tmp/2.json 2>&1"));
	EXPECT_TRUE(printed("/tmp/2.json: not records"));
	EXPECT_EQ(0, run("jq '.records[0][\"realtime-ns\"] = 18446744073709551615' %s",
			 "/tmp/0.json >/tmp/2.json"));
	EXPECT_EQ(2, run("collectivectl record merge /tmp/2.json 2>&1"));
	EXPECT_TRUE(printed("later than the year"));
}

/* On a terminal only, unless the user wants it otherwise. */
TEST_F(two_ranks, colors)
{
	if (unavailable())
		SKIP(return, UNAVAILABLE);
	EXPECT_EQ(0, run("collectivectl member show %s", self->name));
	EXPECT_EQ(NULL, strchr(output, '\033'));
	EXPECT_EQ(0, run("collectivectl --color=always member show %s", self->name));
	EXPECT_TRUE(printed("\033["));
	EXPECT_EQ(0, run("collectivectl -j --color=always member show %s", self->name));
	EXPECT_EQ(NULL, strchr(output, '\033'));
	EXPECT_EQ(2, run("collectivectl --color=blue member show 2>&1"));
	if (system("script -V >/dev/null 2>&1"))
		SKIP(return, "no script in PATH");
	EXPECT_EQ(0, run("script -qec 'collectivectl member show %s' /dev/null", self->name));
	EXPECT_TRUE(printed("\033["));
	EXPECT_EQ(0, run("NO_COLOR=1 script -qec 'collectivectl member show %s' /dev/null",
			 self->name));
	EXPECT_EQ(NULL, strchr(output, '\033'));
	EXPECT_EQ(0, run("script -qec 'collectivectl --color=never member show %s' /dev/null",
			 self->name));
	EXPECT_EQ(NULL, strchr(output, '\033'));
}

/* What this machine has; access_test checks a device that cannot be opened. */
TEST(check)
{
	if (unavailable())
		SKIP(return, UNAVAILABLE);
	EXPECT_EQ(0, run("collectivectl check"));
	EXPECT_TRUE(printed("OK   module   collective") && printed("OK   device   /dev/"));
	EXPECT_TRUE(printed("OK   netlink") && printed(" kernel   Linux "));
	EXPECT_TRUE(printed(" ports    ") && printed(" address  ") && printed(" rdma     "));
	EXPECT_EQ(NULL, strstr(output, "FAIL"));
	EXPECT_EQ(0, run("ulimit -n 64; collectivectl check"));
	EXPECT_TRUE(printed("WARN files    64 open files"));
	EXPECT_EQ(0, run("collectivectl -j check | jq -e '%s'",
			 ".checks | map(select(.verdict == \"FAIL\")) == [] and length >= 9"));
	EXPECT_EQ(1, run("COLL_DEVICE=/nowhere collectivectl check"));
	EXPECT_TRUE(printed("FAIL device   /nowhere: ") && printed("programs cannot use"));
	EXPECT_EQ(1, run("COLL_DEVICE=/nowhere collectivectl -j check"));
	EXPECT_EQ(2, run("collectivectl check this 2>&1"));
}

/*
 * A peer comes from another address than that at which it listens, as with address translation.
 * Rank 0 calls; rank 1 is told an address of it at which nothing listens.
 */
TEST(check_translation)
{
	struct collective_join join[2] = { 0 };
	struct sockaddr_storage addr[2], told[2];
	char name[33];
	int fd[2], i;
	__u64 id;

	if (unavailable())
		SKIP(return, UNAVAILABLE);
	group_unique(name, sizeof(name), &id);
	for (i = 0; i < 2; i++) {
		join[i].id = id;
		join[i].rank = i;
		join[i].nranks = 2;
		join[i].transport = COLLECTIVE_TRANSPORT_TCP;
		fd[i] = member_open();
		ASSERT_LE(0, fd[i]);
		ASSERT_EQ(0, member_join_as(fd[i], &join[i], name, &addr[i]));
	}
	memcpy(told, addr, sizeof(told));
	((struct sockaddr_in *)&told[0])->sin_addr.s_addr = htonl(0x7f000009);
	fcntl(fd[0], F_SETFL, O_NONBLOCK);
	ASSERT_EQ(-EINPROGRESS, member_connect(fd[0], addr, 2, 5000));
	fcntl(fd[0], F_SETFL, 0);
	ASSERT_EQ(0, member_connect(fd[1], told, 2, 5000));
	ASSERT_EQ(0, member_connect(fd[0], addr, 2, 5000));
	EXPECT_EQ(0, run("collectivectl check | grep 'rank 0 of group %s'", name));
	EXPECT_TRUE(printed("WARN address  ") && printed(" came to rank 1 from 127.0.0.1:") &&
		    printed(" and listens at 127.0.0.9:"));
	close(fd[0]);
	close(fd[1]);
}

TEST_F(two_ranks, top)
{
	struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	__u64 id;

	if (unavailable())
		SKIP(return, UNAVAILABLE);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, member_start(self->fd[0], &barrier, &id));
	EXPECT_EQ(0, run("collectivectl top 1 2 %s", self->name));
	EXPECT_TRUE(printed("WAITS-FOR") && printed("barrier #0") && printed("LATE%"));
	/* No live screen where there is no terminal. */
	EXPECT_EQ(NULL, strchr(output, '\033'));
	EXPECT_EQ(0, run("collectivectl -j top 1 1 %s | jq -e '%s'", self->name,
			 ".top[0].inflight == 1 and .top[0][\"waits-for\"] == \"1\""));
	/* A wait in progress counts. */
	EXPECT_EQ(0, run("collectivectl -j top 1 1 %s | jq -e '%s'", self->name,
			 ".top[0][\"wait%\"] == 100 and .top[1][\"late%\"] == 100"));
	EXPECT_EQ(1, run("collectivectl top 1 1 no.such.group 2>&1"));
}

TEST_HARNESS_MAIN
