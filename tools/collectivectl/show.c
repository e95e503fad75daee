// SPDX-License-Identifier: GPL-2.0-only
/*
 * The subcommand show: prints groups as a table, a line each value and a column each rank,
 * or as JSON:
 *
 *	{"groups": [{"name": "n", "members": [
 *		{"rank": 0, "state": "up", ..., "errors": {"reset": 0},
 *		 "links": {"local": "1-3", "tcp": ""}}]}]}
 */
#include <dirent.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ctl.h"
#include "members.h"

/* Widest text of a table, in characters.  Lists of ranks can be longer; JSON has them whole. */
#define CELL_MAX	24

/* Lists of one number are strings, as longer ones are. */
static bool is_list(const struct value *value)
{
	return !strcmp(value->directory, "links") || !strcmp(value->name, "cpus");
}

/* Returns true if the text is a decimal number of JSON. */
static bool is_number(const char *text)
{
	size_t digits;

	text += *text == '-';
	digits = strspn(text, "0123456789");
	return digits && !text[digits] && (digits == 1 || *text != '0');
}

static void json_string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if ((unsigned char)*text < ' ')
			printf("\\u%04x", *text);
		else
			putchar(*text);
	}
	putchar('"');
}

static void json_member(const struct member *member)
{
	const char *directory = "";
	size_t i;

	printf("{\"rank\": %u", member->rank);
	for (i = 0; i < member->n; i++) {
		const struct value *value = &member->values[i];
		bool opens = strcmp(value->directory, directory);

		if (opens && *directory)
			putchar('}');
		printf(", ");
		if (opens) {
			directory = value->directory;
			json_string(directory);
			printf(": {");
		}
		json_string(value->name);
		printf(": ");
		if (!value->text)
			printf("null");
		else if (is_number(value->text) && !is_list(value))
			printf("%s", value->text);
		else
			json_string(value->text);
	}
	printf("%s}", *directory ? "}" : "");
}

static void json_group(const char *name, const struct members *members,
		       bool first)
{
	size_t i;

	printf("%s\n {\"name\": ", first ? "" : ",");
	json_string(name);
	printf(", \"members\": [");
	for (i = 0; i < members->n; i++) {
		printf("%s\n  ", i ? "," : "");
		json_member(&members->members[i]);
	}
	printf("]}");
}

static const char *text_of(const struct value *value)
{
	return value && value->text && *value->text ? value->text : "-";
}

static void print_cell(const char *text, int column)
{
	if (strlen(text) > CELL_MAX)
		printf("  %*.*s...", column - 3, CELL_MAX - 3, text);
	else
		printf("  %*s", column, text);
}

static int screen_width(void)
{
	struct winsize size;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col >= 40)
		return size.ws_col;
	return isatty(STDOUT_FILENO) ? 80 : 120;
}

static int name_width(const struct value *value)
{
	size_t directory = strlen(value->directory);

	return strlen(value->name) + directory + !!directory;
}

/*
 * Prints the members @from to @to.  The lines are those of the group's first member, as one
 * module makes the files of all.
 */
static void table(const struct members *members, size_t from, size_t to,
		  int label, int column)
{
	const struct member *lines = &members->members[0];
	size_t i, j;

	printf("  %-*s", label, "rank");
	for (j = from; j < to; j++)
		printf("  %*u", column, members->members[j].rank);
	putchar('\n');
	for (i = 0; i < lines->n; i++) {
		const struct value *value = &lines->values[i];
		bool below = *value->directory;

		printf("  %s%s%-*s", value->directory, below ? "/" : "",
		       label - name_width(value) + (int)strlen(value->name),
		       value->name);
		for (j = from; j < to; j++)
			print_cell(text_of(member_find(&members->members[j], value)), column);
		putchar('\n');
	}
}

static void table_group(const char *name, const struct members *members,
			bool first)
{
	int label = strlen("rank"), column = 4, width;
	size_t i, j, fit;

	printf("%sgroup %s\n", first ? "" : "\n", name);
	for (i = 0; i < members->n; i++)
		for (j = 0; j < members->members[i].n; j++) {
			const struct value *value =
				&members->members[i].values[j];

			width = name_width(value);
			label = width > label ? width : label;
			width = strnlen(text_of(value), CELL_MAX);
			column = width > column ? width : column;
		}
	fit = (screen_width() - 2 - label) / (column + 2);
	fit = fit ? fit : 1;
	for (i = 0; i < members->n; i += fit) {
		if (i)
			putchar('\n');
		table(members, i, i + fit < members->n ? i + fit : members->n,
		      label, column);
	}
}

static int not_hidden(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int ctl_show(const char *sysfs, const char *only, bool json)
{
	struct dirent **groups;
	struct members members;
	char *path, *below;
	int i, n, shown = 0;

	if (asprintf(&path, "%s/groups", sysfs) < 0)
		err(2, "memory");
	n = scandir(path, &groups, not_hidden, alphasort);
	if (n < 0) {
		warn("%s (is the module loaded?)", path);
		free(path);
		return 2;
	}
	if (json)
		printf("{\"groups\": [");
	for (i = 0; i < n; i++) {
		const char *name = groups[i]->d_name;

		if (asprintf(&below, "%s/%s", path, name) < 0)
			err(2, "memory");
		/* Skips files that are no groups, and groups that were removed meanwhile. */
		if ((!only || !strcmp(only, name)) &&
		    members_read(below, &members)) {
			if (json)
				json_group(name, &members, !shown);
			else
				table_group(name, &members, !shown);
			shown++;
			members_free(&members);
		}
		free(below);
		free(groups[i]);
	}
	free(groups);
	free(path);
	if (json)
		printf("]}\n");
	else if (!shown && !only)
		printf("no groups in this network namespace\n");
	if (only && !shown) {
		warnx("no group %s in this network namespace", only);
		return 1;
	}
	return 0;
}
