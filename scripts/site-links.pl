#!/usr/bin/env perl
# Links of the built site that lead nowhere: files that are not there, anchors that no element has.
use strict;
use warnings;
use File::Basename qw(dirname);
use File::Find;

my $site = shift or die "usage: scripts/site-links.pl FOLDER\n";
my (%ids, @pages);
find({ no_chdir => 1, wanted => sub { push @pages, $_ if /\.html$/ } }, $site);
sub text { local $/; open my $in, '<', $_[0] or die "$_[0]: $!\n"; return <$in> }
sub ids { my ($page) = @_; $ids{$page} //= { map { $_ => 1 } text($page) =~ / id="([^"]+)"/g } }

my $faults = 0;
for my $page (@pages) {
    next if $page =~ m{/(?:print|404|toc|sample-report)\.html$};
    for my $link (text($page) =~ /<(?:a|img)\b[^>]*? (?:href|src)="([^"]+)"/g) {
        next if $link =~ /^[a-z]+:/;
        my ($path, $anchor) = $link =~ /^([^#]*)(?:#(.*))?$/;
        my $file = $path eq '' ? $page : dirname($page) . "/$path";
        my $is_there = -e $file && (!defined $anchor || $anchor eq '' || $file !~ /\.html$/ || ids($file)->{$anchor});
        next if $is_there;
        print STDERR "$page: $link leads nowhere\n";
        $faults++;
    }
}
exit($faults ? 1 : 0);
