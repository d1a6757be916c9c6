package deletes

import "hash/maphash"

// keyTable maps a key to the largest sequence number that deletes it: open addressing over entries whose bytes lie in one
// arena. It is built by one goroutine and read by many.
//
// A slot is 1 + the index of an entry, and above that the upper half of the key's hash, so that a key which is not there (most
// rows are not deleted) is refused without a look at the entries; 0 = empty.
type keyTable struct {
	seed    maphash.Seed
	slots   []uint64
	entries []keyEntry
	arena   []byte
	charge  func(delta int64) error // asked before the table grows
	held    int64
}

type keyEntry struct {
	hash     uint64
	off      int64
	length   int32
	sequence int64
}

// Bytes that are charged.
const (
	entryBytes = 32
	slotBytes  = 8
)

func newKeyTable(charge func(int64) error) *keyTable {
	return &keyTable{seed: maphash.MakeSeed(), charge: charge}
}

// put keeps the largest sequence of a key.
func (t *keyTable) put(key []byte, sequence int64) error {
	h := maphash.Bytes(t.seed, key)
	if i := t.find(h, key); i >= 0 {
		t.entries[i].sequence = max(t.entries[i].sequence, sequence)
		return nil
	}
	if err := t.room(len(key)); err != nil {
		return err
	}
	t.entries = append(t.entries, keyEntry{h, int64(len(t.arena)), int32(len(key)), sequence})
	t.arena = append(t.arena, key...)
	t.place(h, int32(len(t.entries)))
	return nil
}

// room grows the three parts, one at a time, each after it has been charged.
func (t *keyTable) room(key int) error {
	if len(t.entries)+1 > len(t.slots)/2 {
		n := max(64, 2*len(t.slots))
		if err := t.grow(int64(n-len(t.slots)) * slotBytes); err != nil {
			return err
		}
		t.slots = make([]uint64, n)
		for i := range t.entries {
			t.place(t.entries[i].hash, int32(i+1))
		}
	}
	if len(t.entries) == cap(t.entries) {
		n := max(32, 2*cap(t.entries))
		if err := t.grow(int64(n-cap(t.entries)) * entryBytes); err != nil {
			return err
		}
		t.entries = append(make([]keyEntry, 0, n), t.entries...)
	}
	if need := len(t.arena) + key; need > cap(t.arena) {
		n := max(1024, need, 2*cap(t.arena))
		if err := t.grow(int64(n - cap(t.arena))); err != nil {
			return err
		}
		t.arena = append(make([]byte, 0, n), t.arena...)
	}
	return nil
}

func (t *keyTable) grow(n int64) error {
	if err := t.charge(n); err != nil {
		return err
	}
	t.held += n
	return nil
}

// tag is the part of a hash that a slot keeps.
const tag = 0xffffffff << 32

func (t *keyTable) place(hash uint64, entry int32) {
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if t.slots[i] == 0 {
			t.slots[i] = hash&tag | uint64(entry)
			return
		}
	}
}

// find returns the entry's index, -1 = none.
func (t *keyTable) find(hash uint64, key []byte) int {
	if len(t.slots) == 0 {
		return -1
	}
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; t.slots[i] != 0; i = (i + 1) & mask {
		if (t.slots[i]^hash)&tag != 0 {
			continue
		}
		n := int(uint32(t.slots[i])) - 1
		e := &t.entries[n]
		if e.hash == hash && int(e.length) == len(key) && string(t.arena[e.off:e.off+int64(e.length)]) == string(key) {
			return n
		}
	}
	return -1
}

// sequence of a key, -1 if nothing deletes it.
func (t *keyTable) sequence(key []byte) int64 {
	if i := t.find(maphash.Bytes(t.seed, key), key); i >= 0 {
		return t.entries[i].sequence
	}
	return -1
}
