// Package codec decompresses pages: one Decoder holds the state of every codec, made when first needed. All codecs are
// pure Go.
//
// The size of the output is always known beforehand and output of any other size is an error, so a decompression bomb
// writes no byte beyond what was reserved for it. A Decoder belongs to one goroutine at a time; it starts none.
package codec
