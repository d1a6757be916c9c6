// Package exprtest judges whatever evaluates predicates, on rows or on statistics: random values, literals and trees over
// every type, Arrow arrays of such values, and a reference evaluation in three-valued logic on rationals that shares no code
// with expr.Bind or expr/eval. Everything is a pure function of its arguments, randomness included.
package exprtest
