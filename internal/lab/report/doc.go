// Package report turns samples of package lab into plots and tables: one HTML page that needs nothing else, PNG pictures in both themes, and
// CSV. It reads, computes and writes; it measures nothing. The same samples give the same bytes.
package report
