// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libsmartcols.h>

#include "ctl.h"
#include "table.h"

/**
 * struct table - a table that is being filled
 * @table: of libsmartcols
 * @columns: its columns
 * @n: number of columns
 * @at: by column: the number of the cell in a line, or -1
 * @line: the latest row
 */
struct table {
	struct libscols_table *table;
	const struct column *columns;
	size_t n;
	int *at;
	struct libscols_line *line;
};

static void *must(void *pointer)
{
	if (!pointer)
		err(CTL_FAILED, "memory");
	return pointer;
}

static int json_type(enum column_kind kind)
{
	switch (kind) {
	case COLUMN_TEXT:
		return SCOLS_JSON_STRING;
	case COLUMN_FLAG:
		return SCOLS_JSON_BOOLEAN;
	default:
		return SCOLS_JSON_NUMBER;
	}
}

struct table *table_new(const char *name, const struct column *columns, size_t n)
{
	struct table *table = must(calloc(1, sizeof(*table)));
	struct libscols_column *column;
	size_t i;
	int next = 0;

	table->columns = columns;
	table->n = n;
	table->at = must(calloc(n, sizeof(*table->at)));
	table->table = must(scols_new_table());
	scols_table_set_name(table->table, name);
	scols_table_enable_json(table->table, ctl.json);
	scols_table_enable_noheadings(table->table, ctl.no_heading);
	scols_table_enable_colors(table->table, ctl.color && !ctl.json);
	for (i = 0; i < n; i++) {
		table->at[i] = -1;
		if (columns[i].detail && !ctl.json && !ctl.details)
			continue;
		column = must(scols_table_new_column(table->table, columns[i].name, 0,
						     columns[i].kind == COLUMN_TEXT ||
						     columns[i].kind == COLUMN_FLAG ?
						     0 : SCOLS_FL_RIGHT));
		scols_column_set_json_type(column, json_type(columns[i].kind));
		table->at[i] = next++;
	}
	return table;
}

void table_row(struct table *table)
{
	table->line = must(scols_table_new_line(table->table, NULL));
}

void table_text(struct table *table, size_t column, const char *text)
{
	char *copy;

	if (table->at[column] < 0 || !text)
		return;
	copy = text_printable(must(strdup(text)));
	if (scols_line_refer_data(table->line, table->at[column], copy))
		err(CTL_FAILED, "memory");
}

void table_number(struct table *table, size_t column, uint64_t number)
{
	char text[32];

	if (!ctl.json && table->columns[column].kind == COLUMN_BYTES)
		return table_text(table, column, text_bytes(number));
	if (!ctl.json && table->columns[column].kind == COLUMN_DURATION)
		return table_text(table, column, text_duration(number));
	snprintf(text, sizeof(text), "%" PRIu64, number);
	table_text(table, column, text);
}

void table_flag(struct table *table, size_t column, bool flag)
{
	if (ctl.json)
		table_text(table, column, flag ? "1" : "0");
	else
		table_text(table, column, flag ? "yes" : "no");
}

static const struct {
	const char *name;
	const char *sequence;
} colors[] = {
	[COLOR_GOOD]	= { "green", "\033[32m" },
	[COLOR_WARNING]	= { "yellow", "\033[33m" },
	[COLOR_BAD]	= { "red", "\033[31m" },
};

void table_color(struct table *table, size_t column, enum color color)
{
	struct libscols_cell *cell;

	if (!ctl.color || ctl.json || table->at[column] < 0)
		return;
	cell = scols_line_get_cell(table->line, table->at[column]);
	if (cell && scols_cell_set_color(cell, colors[color].name))
		err(CTL_FAILED, "memory");
}

void table_state(struct table *table, size_t column, unsigned int state)
{
	table_text(table, column, coll_admin_name(COLL_ADMIN_STATE, state));
	table_color(table, column, state == COLL_ADMIN_STATE_UP ? COLOR_GOOD :
		    state == COLL_ADMIN_STATE_ABORTED ? COLOR_BAD : COLOR_WARNING);
}

const char *color_begin(enum color color)
{
	return ctl.color ? colors[color].sequence : "";
}

const char *color_end(void)
{
	return ctl.color ? "\033[0m" : "";
}

/* How far the object is that table_join() has begun. */
static enum { JOIN_NONE, JOIN_FIRST, JOIN_SECOND } join;

void table_join(void)
{
	join = ctl.json ? JOIN_FIRST : JOIN_NONE;
}

void table_join_end(void)
{
	if (join == JOIN_SECOND)
		puts("\n}");
	join = JOIN_NONE;
}

/* Prints a document without its end, or without its beginning and after a comma. */
static void print_joined(struct libscols_table *table)
{
	char *text, *end;

	if (scols_print_table_to_string(table, &text))
		err(CTL_FAILED, "memory");
	if (join == JOIN_SECOND) {
		printf(",%s", strchr(text, '{') + 1);
		join = JOIN_NONE;
	} else {
		end = strrchr(text, '}');
		while (end[-1] == '\n')
			end--;
		printf("%.*s", (int)(end - text), text);
		join = JOIN_SECOND;
	}
	free(text);
}

void table_print(struct table *table)
{
	if (join)
		print_joined(table->table);
	else if (ctl.json || !scols_table_is_empty(table->table))
		scols_print_table(table->table);
	scols_unref_table(table->table);
	free(table->at);
	free(table);
}
