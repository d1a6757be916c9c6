// Package variant puts shredded variants together again: a column stored as metadata, value and typed_value becomes the two
// byte strings of the unshredded form (apache/parquet-format, VariantShredding.md and VariantEncoding.md).
//
//	typed_value set, value null    the value is the typed one: a number, a list, an object of shredded fields
//	typed_value null, value set    the value is the encoded one
//	both set                       an object, some of whose fields are shredded
//	both null                      a missing field; null in a place that needs a value
//
// What comes out is canonical where it is put together: fields in the order of their names, the smallest sizes, short
// strings short. Values that were stored encoded are taken over as they are. Names of shredded fields that the metadata
// lacks are added at its end, so field ids in stored values stay right.
//
// The package is pure. Every length is checked before it is used; a broken value is ErrCorrupt.
package variant
