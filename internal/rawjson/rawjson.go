// Package rawjson cuts JSON objects and arrays into their members without decoding or copying them.
//
// Table metadata may hold ten thousand snapshots of which a scan needs one. Cutting costs one pass over the bytes; the
// pieces alias the input and are decoded by their readers, which find what is malformed inside them. The package is pure.
package rawjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
)

// SyntaxError says at which byte the outline of a document breaks.
type SyntaxError struct {
	Offset int
	What   string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("json: %s at byte %d", e.What, e.Offset) }

// Member is one key of an object and its value. Value aliases the input.
type Member struct {
	Key   string
	Value []byte
}

// Object yields the members of the one object in data, in the order of the text; a key may repeat. After an error nothing
// follows.
func Object(data []byte) iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		c := cutter{data: data}
		if err := c.object(yield); err != nil {
			yield(Member{}, err)
		}
	}
}

// Array yields the elements of the one array in data. After an error nothing follows.
func Array(data []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		c := cutter{data: data}
		if err := c.array(yield); err != nil {
			yield(nil, err)
		}
	}
}

// IsNull reports whether value is absent or the word null.
func IsNull(value []byte) bool {
	value = bytes.TrimSpace(value)
	return len(value) == 0 || string(value) == "null"
}

type cutter struct {
	data []byte
	pos  int
}

func (c *cutter) fail(what string) error { return &SyntaxError{c.pos, what} }

func (c *cutter) space() {
	for c.pos < len(c.data) {
		switch c.data[c.pos] {
		case ' ', '\t', '\n', '\r':
			c.pos++
		default:
			return
		}
	}
}

// peek skips space and returns the next byte, 0 at the end.
func (c *cutter) peek() byte {
	c.space()
	if c.pos == len(c.data) {
		return 0
	}
	return c.data[c.pos]
}

func (c *cutter) take(b byte) bool {
	if c.peek() != b {
		return false
	}
	c.pos++
	return true
}

func (c *cutter) object(yield func(Member, error) bool) error {
	if !c.take('{') {
		return c.fail("no object")
	}
	for first := true; !c.take('}'); first = false {
		if !first && !c.take(',') {
			return c.fail("no comma between members")
		}
		if c.peek() != '"' {
			return c.fail("no key")
		}
		raw, err := c.value()
		if err != nil {
			return err
		}
		key, err := unquote(raw)
		if err != nil {
			return c.fail("malformed key")
		}
		if !c.take(':') {
			return c.fail("no colon after a key")
		}
		value, err := c.value()
		if err != nil {
			return err
		}
		if !yield(Member{key, value}, nil) {
			return nil
		}
	}
	return c.end()
}

func (c *cutter) array(yield func([]byte, error) bool) error {
	if !c.take('[') {
		return c.fail("no array")
	}
	for first := true; !c.take(']'); first = false {
		if !first && !c.take(',') {
			return c.fail("no comma between elements")
		}
		value, err := c.value()
		if err != nil {
			return err
		}
		if !yield(value, nil) {
			return nil
		}
	}
	return c.end()
}

func (c *cutter) end() error {
	if c.peek() != 0 || c.pos != len(c.data) {
		return c.fail("text after the end")
	}
	return nil
}

// value skips one value of any kind and returns its text. Brackets are counted, not matched: what is wrong inside is
// found by whoever decodes the piece.
func (c *cutter) value() ([]byte, error) {
	c.space()
	start := c.pos
	for depth := 0; c.pos < len(c.data); {
		switch b := c.data[c.pos]; b {
		case '"':
			if err := c.text(); err != nil {
				return nil, err
			}
			if depth == 0 {
				return c.data[start:c.pos], nil
			}
		case '{', '[':
			depth++
			c.pos++
		case '}', ']':
			if depth == 0 {
				return c.scalar(start)
			}
			depth--
			c.pos++
			if depth == 0 {
				return c.data[start:c.pos], nil
			}
		case ',', ' ', '\t', '\n', '\r', ':':
			if depth == 0 {
				return c.scalar(start)
			}
			c.pos++
		default:
			c.pos++
		}
	}
	if c.pos > start && c.data[start] != '{' && c.data[start] != '[' {
		return c.scalar(start)
	}
	return nil, c.fail("unexpected end")
}

func (c *cutter) scalar(start int) ([]byte, error) {
	if c.pos == start {
		return nil, c.fail("no value")
	}
	return c.data[start:c.pos], nil
}

// text skips a string.
func (c *cutter) text() error {
	for p := c.pos + 1; ; {
		i := bytes.IndexByte(c.data[p:], '"')
		if i < 0 {
			return c.fail("string without end")
		}
		p += i
		slashes := 0
		for c.data[p-1-slashes] == '\\' {
			slashes++
		}
		p++
		if slashes%2 == 0 {
			c.pos = p
			return nil
		}
	}
}

func unquote(raw []byte) (string, error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}
