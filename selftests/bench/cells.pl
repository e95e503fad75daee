#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0
# Condenses the lines of selftests/bench/run to a line a measured cell: the median over the
# rounds.  Documentation/performance/method.rst describes the columns.
use strict;
use warnings;
use List::Util qw(min);

my @columns = qw(machine date commit kernel table system collective ranks bytes parameter
		 rounds median p99 cpu_us alone_us wrong batch);
my (%run, %kernel, %library, %cells, @order);

sub median
{
	my @sorted = sort { $a <=> $b } @_;

	return '' unless @sorted;
	return ($sorted[$#sorted / 2] + $sorted[@sorted / 2]) / 2;
}

# Adds a round's figures to the cell that @key names.
sub add
{
	my ($key, %figures) = @_;
	my $name = join ',', @$key;

	push @order, $name unless $cells{$name};
	push @{$cells{$name}{$_}}, $figures{$_} for keys %figures;
}

while (<>) {
	chomp;
	my ($table, $where, @f) = split /,/, $_, -1;
	next unless defined $where;

	if ($table eq 'machine') {
		@run{qw(machine date commit)} = ($where, @f);
	} elsif ($table eq 'kernel') {
		$kernel{$where} = $f[0];
	} elsif ($table eq 'library') {
		$library{$where}{$f[0]} = $f[1];
	} elsif ($table eq 'time' && $f[5]) {
		my ($system, $collective, $ranks, $bytes) = @f;

		add([$where, $table, $system, $collective, $ranks, $bytes,
		     $library{$where}{$system} // ''],
		    median => $f[7], p99 => $f[8], wrong => $f[9],
		    $f[10] ? (cpu_us => $f[10]) : (), $f[11] ? (batch => $f[11]) : ());
	} elsif ($table eq 'footprint') {
		my ($ranks, $bytes, $ends, $kib) = @f;

		add([$where, $table, 'collective', 'allreduce', $ranks, $bytes, $ends],
		    median => $kib);
	} elsif ($table eq 'crowd') {
		my ($comms, $ranks) = @f;

		add([$where, $table, 'collective', '', $ranks, 0, $comms], median => $f[8]);
	} elsif ($table eq 'instructions') {
		my ($collective, $ranks, $bytes, $operations, $count) = @f;

		add([$where, $table, 'collective', $collective, $ranks, $bytes, $operations],
		    median => $count);
	} elsif ($table eq 'link') {
		my ($system, $mbit, $delay, $bytes) = @f;

		add([$where, $table, $system, '', 2, $bytes, "$mbit:$delay"],
		    median => $f[5], wrong => $f[6]);
	} elsif ($table eq 'overlap') {
		my ($system, $by, $bytes) = @f;

		add([$where, $table, $system, 'allreduce', 2, $bytes, $by],
		    median => $f[7], alone_us => $f[4]);
	}
}

print join(',', @columns), "\n";
for my $name (@order) {
	my ($where, @key) = split /,/, $name, -1;
	my $cell = $cells{$name};
	my $wrong = 0;

	$wrong += $_ for @{$cell->{wrong} || []};
	print join(',', (map { $_ // '' } @run{qw(machine date commit)}),
		   join(' ', grep { defined } $where, $kernel{$where}), @key,
		   scalar @{$cell->{median}},
		   (map { median(@{$cell->{$_} || []}) } qw(median p99 cpu_us alone_us)),
		   $cell->{wrong} ? $wrong : '', min(@{$cell->{batch} || []}) // ''), "\n";
}
