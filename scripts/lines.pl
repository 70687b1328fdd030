#!/usr/bin/env perl
# Lines that are read: prose in Markdown is wrapped evenly at 120 columns, and no line of source is longer than 140.
#
#   scripts/lines.pl           says which lines are not so; part of `make lint`
#   scripts/lines.pl --write   wraps the prose of the documents anew
#
# Tables, code and headings are left as they are.
use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));

use constant { PROSE => 120, SOURCE => 140 };

my $write = @ARGV && $ARGV[0] eq '--write';
my $faults = 0;
for my $file (split /\n/, `git ls-files '*.md' ':!record' ':!crates/*/tests'`) {
    my $text  = slurp($file);
    my $wanted = wrapped($text);
    next if $text eq $wanted;
    if ($write) {
        open my $out, '>', $file or die "$file: $!\n";
        print $out $wanted;
        close $out or die "$file: $!\n";
    } else {
        my ($first) = first_difference($text, $wanted);
        fault("$file:$first: prose is not wrapped evenly at ${\PROSE} columns; scripts/lines.pl --write does it");
    }
}
for my $file (split /\n/, `git ls-files '*.rs' '*.sh' '*.go'`) {
    my $number = 0;
    for my $line (split /\n/, slurp($file)) {
        $number++;
        # A message that a test compares to the letter is as long as it is.
        next if $line =~ /assert_snapshot!|^\s*[\w.-]+\.toml:\d+:/;
        fault("$file:$number: a line of ${\length $line} columns; ${\SOURCE} are the most") if length $line > SOURCE;
    }
}
exit($faults ? 1 : 0);

# The text with every paragraph and every item of a list wrapped.
sub wrapped {
    my ($text) = @_;
    my (@lines, $first, $rest, $paragraph, $in_code);
    my $flush = sub {
        push @lines, fill($first, $rest, words($paragraph)) if defined $paragraph;
        undef $paragraph;
    };
    for my $line (split /\n/, $text) {
        $in_code = !$in_code if $line =~ /^\s*```/;
        if ($in_code || $line =~ /^\s*(```|$|#+ |\||<|>|!\[|\[[^\]]+\]: )/) {
            $flush->();
            push @lines, $line;
        } elsif ($line =~ /^(\s*)((?:[-*]|\d+\.) +)(.*)/) {
            $flush->();
            ($first, $rest) = ("$1$2", $1 . ' ' x length $2);
            $paragraph = $3;
        } else {
            my ($indent) = $line =~ /^(\s*)/;
            ($first, $rest) = ($indent, $indent) unless defined $paragraph;
            $paragraph = defined $paragraph ? "$paragraph $line" : $line;
        }
    }
    $flush->();
    return join("\n", @lines) . "\n";
}

# The words of a paragraph. What stands between backticks is one, so that nobody has to copy it from two lines.
sub words {
    my ($paragraph) = @_;
    my @words = $paragraph =~ /((?:`[^`]*`|\S)+)/g;
    return map { s/\s+/ /gr } @words;
}

# Words in lines no longer than PROSE; none begins with what Markdown would take for an item or a heading.
sub fill {
    my ($first, $rest, @words) = @_;
    my @lines = ($first . shift @words);
    while (@words) {
        my @together = shift @words;
        push @together, shift @words while @words && $words[0] =~ /^([-+*>#|=]+|\d+[.)])$/;
        my $more = join ' ', @together;
        if (length("$lines[-1] $more") <= PROSE) {
            $lines[-1] .= " $more";
        } else {
            push @lines, $rest . $more;
        }
    }
    return @lines;
}

sub first_difference {
    my @is     = split /\n/, $_[0];
    my @wanted = split /\n/, $_[1];
    for my $at (0 .. $#is) {
        return $at + 1 if $at > $#wanted || $is[$at] ne $wanted[$at];
    }
    return scalar @is;
}

sub slurp {
    my ($file) = @_;
    open my $in, '<', $file or die "$file: $!\n";
    local $/;
    return scalar <$in>;
}

sub fault {
    print STDERR "$_[0]\n";
    $faults++;
}
