// Package usage says what this process has used: processor time, the largest resident size so far, and what a function allocates. Zero
// where the system does not tell. Functions may be called from any goroutine.
package usage
