// Package manifest decodes manifest lists and manifests over package avro, projected: metrics are read for the columns asked
// for and passed over for all others.
//
// Fields are found by field id. Header keys are never required: the table's metadata says the format version, the list says
// what a manifest holds and under which spec. What a header does say must not contradict the list (case L04).
//
// A Decoder compiles and caches programs for one scan and belongs to one goroutine; so do the Readers it makes. Bytes in an
// Entry are views, valid until the next Next. All errors are *meta.InvalidError or *meta.UnsupportedError and name the file.
package manifest
