// Package expr is the predicate tree shared by planning, pruning and row filters. It is pure: no I/O, no clock, no state.
//
// # Life of a predicate
//
//	text ── Parse ──▶ tree with names ── Bind(schema) ──▶ tree with field ids ──▶ pruning verdicts, expr/eval on Arrow batches
//
// The type language between packages is an *arrow.Schema whose fields carry PARQUET:field_id in their metadata; a UUID is a
// FixedSizeBinary(16) field that IsUUID reports.
//
// # Text form
//
//	or      = and {OR and}
//	and     = not {AND not}
//	not     = [NOT] pred
//	pred    = ( or ) | operand [test] | call
//	test    = cmp operand | [NOT] IN (lit, …) | [NOT] BETWEEN lit AND lit | [NOT] LIKE 'pattern' | IS [NOT] NULL | IS [NOT] NAN
//	cmp     = "=" "==" "<>" "!=" "<" "<=" ">" ">="
//	call    = starts_with(column, 'text') | isnan(column) | match…(column, 'words')      (names: MatchKinds)
//	operand = column | lit
//	column  = name {. name}        a name is a word or "quoted"; each dot steps into a struct
//	lit     = 12 | 1.5 | 1e3 | 'text' | TRUE | FALSE | NULL | DATE '…' | TIME '…' | TIMESTAMP '…' | TIMESTAMPTZ '…'
//	        | X'00ff' | UUID '…' | DOUBLE 'NaN'
//
// Keywords are case-insensitive; a quote inside quotes is doubled. A bare boolean column is "column = TRUE". LIKE knows %, _
// and the escape character \. Parse(e.String()) equals e for every e that Parse returned.
//
// # Semantics
//
// SQL's three-valued logic: a comparison with NULL is unknown, and unknown selects nothing. Numbers compare by value whatever
// their types; floats are in total order, NaN equal to itself and above every number, -0.0 = 0.0; strings and bytes compare as
// unsigned bytes. An exact literal (12, 1.5) takes the nearest value of a float column's type; a DOUBLE literal is not rounded
// to a float32 column but compared as it is. A date is its midnight; a literal without a zone is read in BindOptions.Zone.
//
// # Bound trees
//
// Bind resolves names to field ids, pushes NOT to the leaves, gives every literal exactly the type of its column (rewriting
// the comparison where the literal lies between two values of the column, folding where it lies outside the type's range) and
// folds constants. A bound tree is TRUE for exactly the rows for which the tree before Bind is TRUE. FALSE and unknown are no
// longer told apart, so negate before Bind, never after.
//
// # Ownership and concurrency
//
// Trees, columns and literals are immutable values and may be shared by goroutines. Nobody may change a slice or a *big.Int
// reached through them.
package expr
