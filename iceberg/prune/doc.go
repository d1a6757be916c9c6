// Package prune decides from evidence, without a data file, which manifests and files can hold a row that a filter selects.
//
// Every answer is one of three (expr.Verdict): None, no row of the unit is selected; All, every row is; Some, nothing is
// proved. None and All are proofs: evidence that is missing, malformed or doubtful gives Some. A filter is bound, so it has
// no NOT above its leaves, and NULL and NaN behave as package expr says.
//
//	manifest   partition summaries, inclusive projections under the manifest's own spec
//	file       its partition tuple: inclusive and strict projections decide leaves; what is left is the residual filter
//	           its counts and bounds: the residual
//
// The package is pure. A Filter is immutable and may be shared; so are the trees that it returns.
package prune
