// Package literals turns values of expr.Literal into Arrow values.
package literals
