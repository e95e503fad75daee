// SPDX-License-Identifier: GPL-2.0-only
/* collectivectl - shows and changes groups of the module, and says what happens to them */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "output.h"
#include "table.h"

struct ctl ctl;

static const char usage_text[] =
	"usage: collectivectl [OPTION]... OBJECT [show [GROUP [RANK]]]\n"
	"       collectivectl group set GROUP [timeout MS|none] [slow PERCENT]\n"
	"       collectivectl lane set GROUP RANK LANE cpu CPU\n"
	"       collectivectl request cancel GROUP RANK ID\n"
	"       collectivectl group abort GROUP\n"
	"       collectivectl monitor [GROUP]\n"
	"       collectivectl why [GROUP]\n"
	"       collectivectl top [SECONDS [SCREENS [GROUP]]]\n"
	"       collectivectl metrics [FILE]\n"
	"       collectivectl feature\n"
	"       collectivectl check [HOST HOST...]\n"
	"       collectivectl time histogram [GROUP [RANK]]\n"
	"       collectivectl time straggler [GROUP]\n"
	"       collectivectl record merge FILE...\n"
	"OBJECT: group, member, lane, link, request, buffer, record or time; or rank, the ranks of all\n"
	"hosts.  \"show\" alone shows groups and their members.  Objects and verbs may be abbreviated.\n"
	"  -j, --json        as JSON\n"
	"  -p, --pretty      as JSON with line breaks, which it always has\n"
	"  -d, --details     all columns\n"
	"  -H, --no-heading  tables without a heading\n"
	"  -f, --format F    records as text, json or chrome (for chrome://tracing and Perfetto)\n"
	"  --color[=WHEN]    colours: auto (default: on a terminal, unless NO_COLOR is set), always, never\n"
	"  -V, --version\n"
	"  -h, --help\n";

void ctl_usage(const char *wrong, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, wrong);
	vfprintf(stderr, wrong, args);
	va_end(args);
	fprintf(stderr, "\n%s", usage_text);
	exit(CTL_FAILED);
}

unsigned int ctl_number(const char *text, const char *what)
{
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || number >= COLL_ADMIN_NONE)
		ctl_usage("%s is no %s", text, what);
	return number;
}

void ctl_selection(int argc, char **argv, const char **group, unsigned int *rank)
{
	*group = argc ? argv[0] : NULL;
	*rank = argc > 1 ? ctl_number(argv[1], "rank") : COLL_ADMIN_ALL;
	if (argc > 2)
		ctl_usage("too many arguments");
}

int ctl_result(int err)
{
	if (err >= 0)
		return 0;
	warnx("%s", coll_admin_error(ctl.admin));
	return CTL_REFUSED;
}

int ctl_show(int argc, char **argv)
{
	const char *group;
	unsigned int rank;
	int status;

	ctl_selection(argc, argv, &group, &rank);
	table_join();
	status = group_verbs[0].run(!!group, argv);
	if (status)
		return status;
	if (!ctl.json)
		putchar('\n');
	status = member_verbs[0].run(argc, argv);
	table_join_end();
	return status;
}

static int help(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	fputs(usage_text, stdout);
	return 0;
}

/**
 * struct word - a first argument
 * @name: the word; may be abbreviated
 * @verbs: of an object; the first is the default
 * @run: of a verb
 * @offline: of a verb: true if it does not ask the module
 */
static const struct word {
	const char *name;
	const struct verb *verbs;
	int (*run)(int argc, char **argv);
	bool offline;
} words[] = {
	{ "group", .verbs = group_verbs },
	{ "member", .verbs = member_verbs },
	{ "lane", .verbs = lane_verbs },
	{ "link", .verbs = link_verbs },
	{ "request", .verbs = request_verbs },
	{ "buffer", .verbs = buffer_verbs },
	{ "record", .verbs = record_verbs },
	{ "time", .verbs = time_verbs },
	{ "rank", .verbs = rank_verbs },
	{ "show", .run = ctl_show },
	{ "monitor", .run = ctl_monitor },
	{ "why", .run = ctl_why },
	{ "top", .run = ctl_top },
	{ "metrics", .run = ctl_metrics },
	{ "cancel", .run = ctl_cancel },
	{ "abort", .run = ctl_abort },
	{ "feature", .run = ctl_feature, .offline = true },
	{ "check", .run = ctl_check, .offline = true },
	{ "help", .run = help, .offline = true },
};

static bool abbreviates(const char *text, const char *name)
{
	return *text && !strncmp(text, name, strlen(text));
}

static void open_admin(void)
{
	int error = coll_admin_open(&ctl.admin);

	if (error)
		errx(CTL_FAILED, "%s", error == -ENOENT ? "the module is not loaded" :
							 strerror(-error));
}

static int run_verb(const struct verb *verb, int argc, char **argv)
{
	if (!verb->offline)
		open_admin();
	return verb->run(argc, argv);
}

static int run_object(const struct word *word, int argc, char **argv)
{
	const struct verb *verb;

	if (!argc)
		return run_verb(&word->verbs[0], 0, argv);
	for (verb = word->verbs; verb->name; verb++)
		if (abbreviates(argv[0], verb->name))
			return run_verb(verb, argc - 1, argv + 1);
	ctl_usage("%s: no such verb of %s", argv[0], word->name);
}

static int run(int argc, char **argv)
{
	const struct word *word;
	size_t i;
	int status;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		word = &words[i];
		if (!abbreviates(argv[0], word->name))
			continue;
		if (ctl.format == FORMAT_CHROME && word->verbs != record_verbs)
			ctl_usage("%s is not shown in the format chrome", word->name);
		if (word->run && !word->offline)
			open_admin();
		status = word->run ? word->run(argc - 1, argv + 1) :
				     run_object(word, argc - 1, argv + 1);
		coll_admin_close(ctl.admin);
		return status;
	}
	ctl_usage("%s: no such object or verb", argv[0]);
}

static enum format format_of(const char *text)
{
	static const char * const names[] = {
		[FORMAT_TEXT]	= "text",
		[FORMAT_JSON]	= "json",
		[FORMAT_CHROME]	= "chrome",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(text, names[i]))
			return i;
	ctl_usage("%s is no format: text, json or chrome", text);
}

/* @when: NULL: the option has no argument.  NO_COLOR: https://no-color.org */
static bool color_of(const char *when)
{
	const char *no_color = getenv("NO_COLOR");

	if (!when || !strcmp(when, "always"))
		return true;
	if (!strcmp(when, "never"))
		return false;
	if (strcmp(when, "auto"))
		ctl_usage("%s: colours are auto, always or never", when);
	return isatty(STDOUT_FILENO) && !(no_color && *no_color);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "pretty", no_argument, NULL, 'p' },
		{ "details", no_argument, NULL, 'd' },
		{ "no-heading", no_argument, NULL, 'H' },
		{ "format", required_argument, NULL, 'f' },
		{ "color", optional_argument, NULL, 'c' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 }
	};
	int option;

	ctl.color = color_of("auto");
	output_check_at_exit(CTL_FAILED);
	while ((option = getopt_long(argc, argv, "jpdHf:Vh", options, NULL)) != -1) {
		switch (option) {
		case 'j':
		case 'p':
			ctl.json = true;
			break;
		case 'd':
			ctl.details = true;
			break;
		case 'H':
			ctl.no_heading = true;
			break;
		case 'f':
			ctl.format = format_of(optarg);
			ctl.json |= ctl.format == FORMAT_JSON;
			break;
		case 'c':
			ctl.color = color_of(optarg);
			break;
		case 'V':
			return output_version();
		case 'h':
			return help(0, NULL);
		default:
			fputs(usage_text, stderr);
			return CTL_FAILED;
		}
	}
	if (optind == argc)
		ctl_usage("what is to be done?");
	return run(argc - optind, argv + optind);
}
