// Package nested puts lists, maps and structs together again from the repetition and definition levels of their leaves.
//
// A Parquet file stores only leaves. Each entry of a leaf carries two small numbers (Melnik et al., "Dremel: Interactive
// Analysis of Web-Scale Datasets"): the repetition level says at which list the entry goes on (0 = a new row), the definition
// level how much of the path to it exists. For a list with entries at repetition level r:
//
//	rep <  r  and def >= slot   a new list begins       slot:  the level at which the enclosing list has an entry
//	          and def >= def    ... which is not null   def:   the level at which this list is there
//	rep <= r  and def >= entry  another element         entry: the level at which it has an element
//
// So one pass over the levels of any one leaf below a list gives its offsets and validity, and likewise a struct's validity;
// lists with the same enclosing list share nothing else. Every node is built from the cheapest wanted leaf below it, and all
// leaves must agree on the number of elements.
//
// A Plan says which leaves to read, what for, and how they make one output column: children are found by schema node, absent
// ones are constants or typed nulls at any depth. Assemble takes whole rows and makes arrays that begin at offset 0; so does
// Cut, for batches, since consumers of Arrow's C interface trip over sliced nested arrays.
//
// The package is pure. A Plan is immutable and shared; arrays that come back are the caller's to release.
package nested
