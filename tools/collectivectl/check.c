// SPDX-License-Identifier: GPL-2.0-only
/* check: whether programs can use the module on this host, and what to do if not. */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <collective.h>

#include "check.h"
#include "ctl.h"
#include "table.h"

#define CAP_IPC_LOCK_BIT	14
#define MEMLOCK_WANTED		((rlim_t)1 << 30)
#define MEMORY_WANTED_MIB	64
#define FILES_WANTED		256
#define PORTS_WANTED		1024

/* The oldest kernel that the module is made for. */
#define KERNEL_MAJOR		6
#define KERNEL_MINOR		12

#define RDMA			"/sys/class/infiniband"

static const char * const verdict_names[] = { "OK", "WARN", "FAIL" };

enum {
	CHECK_NAME,
	CHECK_VERDICT,
	CHECK_FOUND,
	CHECK_ADVICE,
};

static const struct column check_columns[] = {
	[CHECK_NAME]	= { .name = "CHECK" },
	[CHECK_VERDICT]	= { .name = "VERDICT" },
	[CHECK_FOUND]	= { .name = "FOUND" },
	[CHECK_ADVICE]	= { .name = "ADVICE" },
};

void tell(struct report *report, const char *name, enum verdict verdict,
	  const char *advice, const char *found, ...)
{
	char text[512];
	va_list args;

	va_start(args, found);
	vsnprintf(text, sizeof(text), found, args);
	va_end(args);
	report->failed |= verdict == VERDICT_FAIL;
	if (report->rank) {
		if (verdict != VERDICT_OK || !strcmp(name, "datagrams"))
			printf("%s\t%s\t%s\t%s\t%s\n", report->rank, verdict_names[verdict], name,
			       text, advice ? advice : "");
		return;
	}
	table_row(report->table);
	table_text(report->table, CHECK_NAME, name);
	table_text(report->table, CHECK_VERDICT, verdict_names[verdict]);
	table_text(report->table, CHECK_FOUND, text);
	if (advice)
		table_text(report->table, CHECK_ADVICE, advice);
	if (ctl.json)
		return;
	printf("%-4s %-8s %s\n", verdict_names[verdict], name, text);
	if (advice)
		printf("%-13s %s\n", "", advice);
}

/* Reads the first line of a file.  Return: false if there is none. */
static bool read_line(char *line, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static bool read_line(char *line, size_t size, const char *format, ...)
{
	char path[300];
	va_list args;
	FILE *file;
	bool read;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	file = fopen(path, "re");
	if (!file)
		return false;
	read = fgets(line, size, file);
	fclose(file);
	if (read)
		line[strcspn(line, "\n")] = '\0';
	return read;
}

static void check_kernel(struct report *report)
{
	unsigned int major, minor;
	struct utsname name;
	bool old;

	uname(&name);
	old = sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	      (major < KERNEL_MAJOR || (major == KERNEL_MAJOR && minor < KERNEL_MINOR));
	tell(report, "kernel", old ? VERDICT_WARN : VERDICT_OK,
	     old ? "the module is made for Linux 6.12 and newer" : NULL, "%s %s %s", name.sysname,
	     name.release, name.machine);
}

/* Return: true if the module is loaded. */
static bool check_module(struct report *report)
{
	char version[64];

	if (read_line(version, sizeof(version), "%s/version", CTL_MODULE))
		tell(report, "module", VERDICT_OK, NULL, "collective %s", version);
	else if (!access(CTL_MODULE, F_OK))
		tell(report, "module", VERDICT_OK, NULL, "collective, no version");
	else
		tell(report, "module", VERDICT_FAIL, "modprobe collective, or build it",
		     "not loaded");
	return !report->failed;
}

/* Returns true if the user's account is a member of the group. */
static bool enlisted(const struct passwd *user, gid_t gid)
{
	gid_t groups[1024];
	int n = 1024, i;

	if (getgrouplist(user->pw_name, user->pw_gid, groups, &n) < 0)
		return false;
	for (i = 0; i < n; i++)
		if (groups[i] == gid)
			return true;
	return false;
}

/* What makes a device accessible that cannot be opened; NULL: not known. */
static const char *device_advice(const char *path, const struct stat *info, int error)
{
	bool for_group = (info->st_mode & 0060) == 0060;
	struct passwd *user = getpwuid(geteuid());
	struct group *group = getgrgid(info->st_gid);
	static char advice[512];
	char number[32];
	const char *name = group ? group->gr_name : number;

	snprintf(number, sizeof(number), "%u", info->st_gid);
	if (error != EACCES && error != EPERM)
		return NULL;
	if (error == EPERM || (info->st_mode & 0006) == 0006)
		snprintf(advice, sizeof(advice),
			 "a container (see --device %s) or a security module forbids it", path);
	else if (!for_group)
		return "a udev rule decides: KERNEL==\"collective\", MODE=\"0660\", GROUP=\"hpc\"";
	else if (user && enlisted(user, info->st_gid))
		snprintf(advice, sizeof(advice),
			 "the account is in group %s, this session not yet: log in again", name);
	else
		snprintf(advice, sizeof(advice),
			 "usermod -aG %s %s, log in again; in a container: --group-add %u", name,
			 user ? user->pw_name : "USER", info->st_gid);
	return advice;
}

static void check_device(struct report *report)
{
	const char *path = getenv("COLL_DEVICE");
	struct stat info;
	int fd, error;

	if (!path || !*path)
		path = CTL_DEVICE;
	if (stat(path, &info)) {
		tell(report, "device", VERDICT_FAIL, "the module makes it when it is loaded",
		     "%s: %s", path, strerror(errno));
		return;
	}
	if (!S_ISCHR(info.st_mode)) {
		tell(report, "device", VERDICT_FAIL, "unset COLL_DEVICE",
		     "%s is no character device", path);
		return;
	}
	fd = open(path, O_RDWR | O_CLOEXEC);
	error = errno;
	if (fd < 0) {
		tell(report, "device", VERDICT_FAIL, device_advice(path, &info, error),
		     "%s: %s (mode %04o, owner %u:%u)", path, strerror(error),
		     info.st_mode & 07777, info.st_uid, info.st_gid);
		return;
	}
	close(fd);
	tell(report, "device", VERDICT_OK, NULL, "%s, mode %04o, can be opened", path,
	     info.st_mode & 07777);
}

static void check_netlink(struct report *report)
{
	struct coll_admin *admin;
	int error = coll_admin_open(&admin);

	coll_admin_close(admin);
	if (error)
		tell(report, "netlink", VERDICT_WARN,
		     "groups work, and cannot be shown: are module and tools of one version?",
		     "the family collective: %s", strerror(-error));
	else
		tell(report, "netlink", VERDICT_OK, NULL, "the family collective answers");
}

/* Returns true if this process may pin memory without limit. */
static bool exempt(void)
{
	unsigned long long capabilities = 0;
	char line[128];
	FILE *file = fopen("/proc/self/status", "re");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %llx", &capabilities) == 1)
			break;
	if (file)
		fclose(file);
	return capabilities >> CAP_IPC_LOCK_BIT & 1;
}

/* With a low limit everything works but large buffers. */
static void check_memlock(struct report *report)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit)) {
		tell(report, "memlock", VERDICT_WARN, NULL, "%s", strerror(errno));
		return;
	}
	if (limit.rlim_cur == RLIM_INFINITY)
		tell(report, "memlock", VERDICT_OK, NULL, "unlimited");
	else if (exempt())
		tell(report, "memlock", VERDICT_OK, NULL, "%llu KiB, and CAP_IPC_LOCK lifts it",
		     (unsigned long long)limit.rlim_cur >> 10);
	else if (limit.rlim_cur >= MEMLOCK_WANTED)
		tell(report, "memlock", VERDICT_OK, NULL, "%llu KiB",
		     (unsigned long long)limit.rlim_cur >> 10);
	else
		tell(report, "memlock", VERDICT_WARN,
		     "ulimit -l, LimitMEMLOCK=4G in a unit, or memlock in /etc/security/limits.d",
		     "%llu KiB: operations on larger buffers fail with EDQUOT",
		     (unsigned long long)limit.rlim_cur >> 10);
}

static void check_memory(struct report *report)
{
	unsigned long mib;
	char line[64];

	if (!read_line(line, sizeof(line), "%s/parameters/user_memory_mib", CTL_MODULE))
		return;
	mib = strtoul(line, NULL, 10);
	if (!mib)
		tell(report, "memory", VERDICT_OK, NULL,
		     "kernel memory of a user's groups: an eighth of the machine");
	else
		tell(report, "memory", mib < MEMORY_WANTED_MIB ? VERDICT_WARN : VERDICT_OK,
		     mib < MEMORY_WANTED_MIB ?
		     "few ranks fit: raise the module's parameter user_memory_mib" : NULL,
		     "kernel memory of a user's groups: %lu MiB", mib);
}

static void check_files(struct report *report)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	if (limit.rlim_cur < FILES_WANTED)
		tell(report, "files", VERDICT_WARN, "ulimit -n 1024, or LimitNOFILE= in a unit",
		     "%llu open files: launchers of many ranks need more",
		     (unsigned long long)limit.rlim_cur);
	else
		tell(report, "files", VERDICT_OK, NULL, "%llu open files",
		     (unsigned long long)limit.rlim_cur);
}

/* Each rank listens on a port, and each connection that it makes has one. */
static void check_ports(struct report *report)
{
	unsigned int first, last;
	char line[64];

	if (!read_line(line, sizeof(line), "/proc/sys/net/ipv4/ip_local_port_range") ||
	    sscanf(line, "%u %u", &first, &last) != 2)
		return;
	if (last - first + 1 < PORTS_WANTED)
		tell(report, "ports", VERDICT_WARN,
		     "large groups by TCP need more: sysctl net.ipv4.ip_local_port_range",
		     "%u to %u", first, last);
	else
		tell(report, "ports", VERDICT_OK, NULL,
		     "%u to %u; let packet filters pass them, by TCP and UDP", first, last);
}

/**
 * struct remark - addresses of which coll_addresses() says the same
 * @remark: what it says
 * @text: the addresses, with their interfaces
 * @more: number of those that do not fit
 */
struct remark {
	char remark[32];
	char text[300];
	unsigned int more;
};

static void add_address(struct remark *to, const char *address, const char *interface)
{
	const size_t length = strlen(to->text), size = sizeof(to->text);

	if (to->more || length + strlen(address) + strlen(interface) + sizeof(", ()") > size)
		to->more++;
	else
		snprintf(to->text + length, size - length, "%s%s (%s)", length ? ", " : "", address,
			 interface);
}

/* Sorts the lines of coll_addresses() by what they say.  Return: the number of remarks. */
static unsigned int sort_addresses(char *list, struct remark *remarks, unsigned int max)
{
	char address[64], interface[IF_NAMESIZE], remark[32], *line, *rest;
	unsigned int n = 0, i;

	for (line = strtok_r(list, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (sscanf(line, "%63s %15s %31[^\n]", address, interface, remark) != 3)
			continue;
		for (i = 0; i < n && strcmp(remarks[i].remark, remark); i++)
			;
		if (i == max)
			continue;
		if (i == n)
			strcpy(remarks[n++].remark, remark);
		add_address(&remarks[i], address, interface);
	}
	return n;
}

/* What ranks tell those of other hosts, which decide by what all hosts tell. */
static void check_addresses(struct report *report)
{
	const char *asked = getenv("COLL_LOCAL_ADDR");
	struct remark remarks[8] = { 0 };
	char list[1 << 16], more[40];
	bool told = false, is_told;
	unsigned int n, i;
	int error;

	error = coll_addresses(list, sizeof(list));
	n = error < 0 ? 0 : sort_addresses(list, remarks, ARRAY_SIZE(remarks));
	for (i = 0; i < n; i++) {
		is_told = !strcmp(remarks[i].remark, "told");
		told |= is_told;
		more[0] = '\0';
		if (remarks[i].more)
			snprintf(more, sizeof(more), " and %u more", remarks[i].more);
		tell(report, "address", VERDICT_OK, NULL, "%s%s: %s%s",
		     is_told ? "" : "left out, ", remarks[i].remark, remarks[i].text, more);
	}
	if (asked && *asked)
		tell(report, "address", VERDICT_OK, NULL,
		     "COLL_LOCAL_ADDR is %s: only that is told", asked);
	else if (!told)
		tell(report, "address", VERDICT_WARN,
		     "ranks of other hosts need an address in this network namespace",
		     "%s", error < 0 ? strerror(-error) : "none to tell other hosts");
}

static bool same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	return IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)a)->sin6_addr,
				  &((const struct sockaddr_in6 *)b)->sin6_addr);
}

/* A rank binds its connections to the address at which it listens: another one is not its own. */
static int check_link(const struct coll_admin_link *link, void *report)
{
	unsigned int i;

	for (i = 0; i < link->n; i++) {
		const struct coll_admin_connection *at = &link->connection[i];

		if (!at->has_tcp || at->outgoing || !link->address.ss_family ||
		    at->peer.ss_family != link->address.ss_family ||
		    same_host(&at->peer, &link->address))
			continue;
		tell(report, "address", VERDICT_WARN,
		     "COLL_LOCAL_ADDR of all ranks: a network without address translation",
		     "rank %u of group %s came to rank %u from %s and listens at %s: address translation",
		     link->peer, link->group, link->rank, text_address(&at->peer),
		     text_address(&link->address));
		break;
	}
	return 0;
}

/* Is there address translation between ranks of this host and others? */
static void check_links(struct report *report)
{
	struct coll_admin *admin;

	if (!coll_admin_open(&admin))
		(void)coll_admin_links(admin, NULL, COLL_ADMIN_ALL, check_link, report);
	coll_admin_close(admin);
}

/* Are all ports of an RDMA device active?  @text: their states. */
static bool rdma_active(const char *device, char *text, size_t size)
{
	size_t length = 0;
	bool active = true;
	char state[64];
	int port;

	*text = '\0';
	/* Ports are numbered from 1. */
	for (port = 1; port < 256 && length < size; port++) {
		if (!read_line(state, sizeof(state), "%s/%s/ports/%d/state", RDMA, device, port))
			break;
		active &= !!strstr(state, "ACTIVE");
		length += snprintf(text + length, size - length, "%s%s", length ? ", " : "", state);
	}
	return active;
}

static void check_rdma(struct report *report)
{
	DIR *directory = opendir(RDMA);
	struct dirent *entry;
	unsigned int n = 0;
	char ports[200];
	bool active;

	while (directory && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		n++;
		active = rdma_active(entry->d_name, ports, sizeof(ports));
		tell(report, "rdma", active ? VERDICT_OK : VERDICT_WARN,
		     active ? NULL : "a link is down: rdma link", "%s: %s", entry->d_name, ports);
	}
	if (directory)
		closedir(directory);
	if (!n)
		tell(report, "rdma", VERDICT_OK, NULL, "no device: hosts are joined by TCP");
}

static void check_host(struct report *report)
{
	bool loaded;

	check_kernel(report);
	loaded = check_module(report);
	check_device(report);
	if (loaded)
		check_netlink(report);
	check_memlock(report);
	check_memory(report);
	check_files(report);
	check_ports(report);
	check_addresses(report);
	if (loaded)
		check_links(report);
	check_rdma(report);
}

int ctl_check(int argc, char **argv)
{
	struct report report = { .rank = check_hosts_rank() };

	if (report.rank) {
		check_host(&report);
		check_hosts_probe(&report);
		/* A rank that fails would end the others, which have to report, too. */
		return 0;
	}
	report.table = table_new("checks", check_columns, ARRAY_SIZE(check_columns));
	if (argc)
		check_hosts(&report, argc, argv);
	else
		check_host(&report);
	if (ctl.json)
		table_print(report.table);
	else if (report.failed && !argc)
		printf("programs cannot use libcollective here\n");
	return report.failed ? CTL_REFUSED : 0;
}
