// Package usage says what this process has used: processor time, and the largest resident size so far. Zero where the system does not
// tell. Functions may be called from any goroutine.
package usage
