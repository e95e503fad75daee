// SPDX-License-Identifier: GPL-2.0-only
/* collectivectl - prints the state and the history of the module's groups */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"
#include "output.h"

static int usage(FILE *to, int status)
{
	fprintf(to,
		"usage: collectivectl show [-j] [-s FOLDER] [GROUP]   statistics of groups\n"
		"       collectivectl record [-d FOLDER] [GROUP]     the last events of their ranks\n"
		"       collectivectl check                          whether programs can use the module here\n"
		"  -j, --json          as JSON\n"
		"  -s, --sysfs FOLDER  for show, instead of " CTL_SYSFS "\n"
		"  -d, --debugfs FOLDER  for record, instead of " CTL_DEBUGFS "\n");
	return status;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "sysfs", required_argument, NULL, 's' },
		{ "debugfs", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 }
	};
	const char *sysfs = CTL_SYSFS, *debugfs = CTL_DEBUGFS;
	bool json = false;
	int option;

	output_check_at_exit(2);
	while ((option = getopt_long(argc, argv, "js:d:h", options,
				     NULL)) != -1) {
		switch (option) {
		case 'j':
			json = true;
			break;
		case 's':
			sysfs = optarg;
			break;
		case 'd':
			debugfs = optarg;
			break;
		case 'h':
			return usage(stdout, 0);
		default:
			return usage(stderr, 2);
		}
	}
	argc -= optind;
	argv += optind;
	if ((argc == 1 || argc == 2) && !strcmp(argv[0], "show"))
		return ctl_show(sysfs, argc == 2 ? argv[1] : NULL, json);
	if ((argc == 1 || argc == 2) && !json && !strcmp(argv[0], "record"))
		return ctl_record(debugfs, argc == 2 ? argv[1] : NULL);
	if (argc == 1 && !strcmp(argv[0], "check"))
		return ctl_check();
	return usage(stderr, 2);
}
