/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables and JSON, by libsmartcols. */
#ifndef TABLE_H
#define TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a column looks. */
enum column_kind {
	COLUMN_TEXT,
	COLUMN_NUMBER,		/* to the right */
	COLUMN_BYTES,		/* shortened in a table */
	COLUMN_DURATION,	/* ns; shortened in a table */
	COLUMN_FLAG,
};

/**
 * struct column - a column of a table
 * @name: heading, and in lower case the name in JSON
 * @kind: how it looks
 * @detail: true if a table has it with --details only; JSON has all columns
 */
struct column {
	const char *name;
	enum column_kind kind;
	bool detail;
};

struct table;

/* A table of @n columns; in JSON an array of this name. */
struct table *table_new(const char *name, const struct column *columns, size_t n);

/* Begins a row. */
void table_row(struct table *table);

/* Set a cell of the latest row.  A cell that is not set is empty, in JSON null. */
void table_text(struct table *table, size_t column, const char *text);
void table_number(struct table *table, size_t column, uint64_t number);
void table_flag(struct table *table, size_t column, bool flag);

/* The state of a rank, coloured. */
void table_state(struct table *table, size_t column, unsigned int state);

enum color {
	COLOR_GOOD,
	COLOR_WARNING,
	COLOR_BAD,
};

/* Sets the colour of a cell that has been set, where colours are printed. */
void table_color(struct table *table, size_t column, enum color color);

/* The same as escape sequences, for text that is no table; "" where colours are not printed. */
const char *color_begin(enum color color);
const char *color_end(void);

/* Prints the table and frees it. */
void table_print(struct table *table);

/*
 * Makes the next two tables that are printed as JSON one object with two arrays.  table_join_end()
 * ends it, also where the second table was not printed.
 */
void table_join(void);
void table_join_end(void);

#endif /* TABLE_H */
