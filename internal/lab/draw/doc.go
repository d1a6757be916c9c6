// Package draw makes plots: a Plot or a Waterfall becomes a Picture of lines, areas and words, and a Picture becomes SVG (for a page, its
// colours named, so that the page's light and dark themes apply) or PNG (with the colours of one Theme). Both are pure functions of their
// input, so a report made twice has the same bytes.
//
// Colours are told apart also by people who see few of them (after Okabe and Ito), and every series has a marker of its own and its name
// beside its end, so a plot needs no legend and no colour to be read.
package draw
