#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0
# Writes Documentation/performance/results.rst from the cells of one CSV file a machine:
# selftests/bench/report --rst.
use strict;
use warnings;

my @systems = qw(collective gloo openmpi-tcp openmpi-shm mpich-tcp mpich-shm openmpi-new-shm
		 mpich-new-shm best-tcp
		 best-shm memory iperf3 iperf3-both);
my %title = (
	collective => 'collective', gloo => 'Gloo', 'openmpi-tcp' => 'Open MPI TCP',
	'openmpi-shm' => 'Open MPI shm', 'mpich-tcp' => 'MPICH TCP', 'mpich-shm' => 'MPICH shm',
	'openmpi-new-shm' => 'newer Open MPI shm', 'mpich-new-shm' => 'newer MPICH shm',
	'best-tcp' => 'best TCP', 'best-shm' => 'best shm', memory => 'memory',
	iperf3 => 'iperf3', 'iperf3-both' => 'iperf3, each way',
);
my @collectives = qw(allreduce broadcast allgather reduce_scatter alltoall barrier);

sub size_name
{
	my $bytes = shift;

	return '' unless $bytes;
	return $bytes / (1 << 20) . ' MiB' if $bytes >= 1 << 20;
	return $bytes >= 1024 ? $bytes / 1024 . ' KiB' : "$bytes B";
}

# With a comma a thousand; a decimal below 100, two below 1.
sub figure
{
	my ($value, $decimals) = @_;
	my $text;

	return '-' if !defined $value || $value eq '';
	$text = sprintf '%.*f', $decimals // ($value >= 100 || $value == int $value ? 0 : $value < 1 ? 2 : 1), $value;
	1 while $text =~ s/^(\d+)(\d{3})/$1,$2/;
	return $text;
}

# A simple table of no more than 100 columns: the first @left columns are text, the others are
# figures.  Heads have a word a line, but for names of two words.
sub table
{
	my ($left, $heads, @rows) = @_;
	my @words = map { (my $head = $_) =~ s/Open MPI/Open\0MPI/; [map { tr/\0/ /r } split / /, $head] } @$heads;
	my ($most) = sort { $b <=> $a } map { scalar @$_ } @words;
	my @width;
	my @lines = map { my $n = $_; [map { $_->[$n] // '' } @words] } 0 .. $most - 1;

	for my $row (@lines, @rows) {
		for my $i (0 .. $#$row) {
			my $length = length $row->[$i];
			$width[$i] = $length if $length > ($width[$i] // 1);
		}
	}
	my $rule = join(' ', map { '=' x $_ } @width);
	my $text = "$rule\n";
	for my $n (0 .. $#lines + @rows) {
		my $row = $n <= $#lines ? $lines[$n] : $rows[$n - @lines];
		# What is indented in a cell would be a quotation.
		my $text_columns = $n <= $#lines ? @$row : $left;
		my $line = join ' ', map {
			sprintf($_ < $text_columns ? '%-*s' : '%*s', $width[$_], $row->[$_])
		} 0 .. $#$row;
		$line =~ s/ +$//;
		$text .= "$line\n";
		$text .= "$rule\n" if $n == $#lines;
	}
	die "page: a table has " . length($rule) . " columns\n" if length $rule > 100;
	return "$text$rule\n\n";
}

# The systems that have one of the cells.
sub present
{
	my %there = map { $_->{system} => 1 } @_;

	return grep { $there{$_} } @systems;
}

# Which trees were measured: "aa9973a (2026-11-26)".
sub trees
{
	my %date = map { $_->{commit} => $_->{date} } @_;

	return join ' and ', map { ($_ || 'an unnamed tree') . ($date{$_} ? " ($date{$_})" : '') } sort keys %date;
}

# A row for each different @key, a column for each system; @value gives a cell's text.
sub by_system
{
	my ($heads, $key, $value, @cells) = @_;
	my @present = present(@cells);
	my (%rows, @order);

	for my $cell (@cells) {
		my $name = join "\0", $key->($cell), $cell->{commit};
		push @order, $name unless $rows{$name};
		$rows{$name}{$cell->{system}} = $value->($cell);
	}
	return "Measured: " . trees(@cells) . ".\n\n" .
		table(scalar(@$heads), [@$heads, map { $title{$_} } @present], map {
			my $name = $_;
			my ($commit, @key) = reverse split /\0/, $name, -1;
			[reverse(@key), map { $rows{$name}{$_} // '-' } @present]
		} @order);
}

# The cells by collective, in their order of ranks and sizes.
sub by_collective
{
	my %of;

	push @{$of{$_->{collective}}}, $_
		for sort { $a->{ranks} <=> $b->{ranks} || $a->{bytes} <=> $b->{bytes} } @_;
	return map { $of{$_} ? [$_, @{$of{$_}}] : () } @collectives;
}

sub times
{
	my ($machine, @cells) = @_;
	my @key = (['ranks', 'size'], sub { ($_[0]{ranks}, size_name($_[0]{bytes})) });

	for (by_collective(@cells)) {
		my ($collective, @of) = @$_;
		my @cpu = grep { $_->{cpu_us} } @of;
		my $chart = "$machine-$collective.svg";

		my ($largest) = sort { $b <=> $a } map { $_->{bytes} } grep { ($_->{batch} // 0) > 1 } @of;
		my $means = !defined $largest ? '' : ', means of batches of operations' .
			($largest ? ' up to ' . size_name($largest) : '');

		print "**$collective**, microseconds$means:\n\n";
		print ".. image:: results/$chart\n   :alt: Time of $collective over the size\n\n" if -e $chart;
		print by_system(@key, sub { figure($_[0]{median}) }, @of);
		print "CPU time of the whole machine for $collective, seconds a GiB:\n\n",
			by_system(@key, sub { figure($_[0]{cpu_us} / 1e6 * (1 << 30) / $_[0]{bytes}, 2) }, @cpu)
			if @cpu;
	}
}

sub links
{
	shift;
	print "Links of a limited rate, Mbit/s each way:\n\n",
		by_system(['link', 'delay'],
			  sub { my ($mbit, $ms) = split /:/, $_[0]{parameter};
				($mbit / 1000 . ' Gbit/s', "$ms ms") },
			  sub { figure($_[0]{median}) . ($_[0]{bytes} ?
				' (' . size_name($_[0]{bytes}) . ')' : '') }, @_);
}

sub overlaps
{
	shift;
	print "Hidden behind computation, per cent, and the time of the operation alone, ",
		"microseconds:\n\n",
		by_system(['size', 'computation'],
			  sub { (size_name($_[0]{bytes}), $_[0]{parameter}) },
			  sub { figure($_[0]{median}, 0) .
				($_[0]{alone_us} ne '' ? ' (' . figure($_[0]{alone_us}, 0) . ')' : '') }, @_);
}

sub footprints
{
	shift;
	print "Memory of the kernel, KiB, and the ends of connections it is for:\n\n",
		by_system(['ranks', 'ends'], sub { ($_[0]{ranks}, $_[0]{parameter}) },
			  sub { figure($_[0]{median}) }, @_);
}

sub rank_of_kernel
{
	return $_[0] =~ /^host/ ? 0 : $_[0] =~ /^native/ ? 1 : 2;
}

my (@machines, %text, %cells);
for my $file (@ARGV) {
	my ($name) = $file =~ m{([^/]+)\.csv$};
	my @columns;

	open(my $in, '<', $file) or die "page: $file: $!\n";
	push @machines, $name;
	$text{$name} = '';
	while (<$in>) {
		chomp;
		if (/^#\s*(.*)/) {
			$text{$name} .= "$1\n";
			next;
		}
		my @fields = split /,/, $_, -1;
		if (!@columns) {
			@columns = @fields;
			next;
		}
		die "page: $file:$.: not " . @columns . " fields\n" unless @fields == @columns;
		my %cell;
		@cell{@columns} = @fields;
		# Emulators and debug kernels say nothing of speed.
		push @{$cells{$name}{$cell{kernel}}}, \%cell
			if $cell{kernel} =~ /^(?:host|native|uml(?!-debug))/;
	}
}

print <<'END';
.. SPDX-License-Identifier: GPL-2.0-only
.. Generated by "selftests/bench/report --rst" from results/*.csv: do not edit.

=======
Results
=======

One section a machine, made from the cells in ``Documentation/performance/results/``.
:doc:`method` says how they are measured and what the columns of these files are.  Each
figure is the median over the rounds.  Charts have both axes logarithmic; the figures are below.

*Relative only* marks User-Mode Linux: system calls and interrupts cost much more there than
natively, so its figures compare systems on one kernel and say nothing of absolute speed.
*best TCP* and *best shm* are the quickest peer over TCP and over shared memory.
END

my %emit = (time => \&times, link => \&links, overlap => \&overlaps, footprint => \&footprints);
for my $name (@machines) {
	for my $kernel (sort { rank_of_kernel($a) <=> rank_of_kernel($b) || $a cmp $b }
			keys %{$cells{$name}}) {
		my $title = "$name, $kernel" . ($kernel =~ /^uml/ ? ' (relative only)' : '');

		print "\n$title\n", '=' x length $title, "\n\n$text{$name}\n";
		for my $kind (qw(time link overlap footprint)) {
			my @of = grep { $_->{table} eq $kind } @{$cells{$name}{$kernel}};
			$emit{$kind}->($name, @of) if @of;
		}
	}
}
