// Package inflate unpacks raw DEFLATE streams (RFC 1951) that lie in memory whole, as the blocks of Avro files do.
//
// Input and output are slices: no window is kept beside the output and no byte is read through an interface, which makes it
// about twice as fast as a streaming reader. What it accepts is what compress/flate accepts (fuzzed against it).
//
// A Decoder holds the tables of one stream after the other; it belongs to one goroutine. The zero value is ready.
package inflate
