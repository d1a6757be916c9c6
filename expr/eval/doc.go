// Package eval tells which rows of an Arrow batch a bound predicate selects.
//
//	ev, err := eval.New(bound, schema)          // once a scan: bound by expr.Bind, fields found by field id
//	var sel eval.Selection                      // once a goroutine
//	for each batch {
//		err := ev.Eval(record, &sel)            // sel.Bits: one bit a row, sel.Count rows
//	}
//
// Columns are found by field id at any struct depth, so names and places in the batch do not matter; a value is NULL if any
// struct around it is. The types must be those the predicate was bound to, or dictionaries of them.
//
// A row is selected if the predicate is TRUE; FALSE and unknown are alike, which is why NOT must lie in the leaves (Bind puts
// it there). Each node narrows the rows that are still open: AND hands what is selected so far to its next part, cheap parts
// first, OR hands on what is not; text predicates look at open rows alone. A dictionary's entries are tested once each where
// there are fewer of them than open rows, else the rows.
//
// # Ownership and concurrency
//
// An Evaluator is immutable and may be shared by goroutines. A Selection belongs to one goroutine; it keeps scratch memory
// from batch to batch, so that a steady stream allocates nothing, and holds no reference to a batch. Batches are borrowed for
// the call.
package eval
