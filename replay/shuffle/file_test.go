package shuffle

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
)

// rowFile returns a file of n rows of random bytes of up to size each.
func rowFile(t testing.TB, n, size int) (data []byte, rows [][]byte) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), uint64(size)))
	for range n {
		row := make([]byte, 1+rng.IntN(size))
		for i := range row {
			row[i] = byte(rng.Uint32())
		}
		rows = append(rows, row)
	}
	var buf bytes.Buffer
	if err := encodeFile(&buf, rows); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes(), rows
}

// readRows reads all rows of a file's bytes.
func readRows(data []byte) (rows [][]byte, err error) {
	f, err := newRowFile("f", bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	for k := range f.blocks {
		block, err := f.readBlock(k)
		if err != nil {
			return nil, err
		}
		rows = append(rows, block...)
	}
	return rows, nil
}

func TestRowFile(t *testing.T) {
	for _, c := range []struct{ n, size, blocks int }{{0, 1, 0}, {1, 10, 1}, {1024, 4, 1}, {1025, 4, 2}, {500, 4000, 4}} {
		data, rows := rowFile(t, c.n, c.size)
		got, err := readRows(data)
		if err != nil || !slices.EqualFunc(got, rows, bytes.Equal) {
			t.Errorf("%d rows: %d come back, %v", c.n, len(got), err)
		}
		if blocks := int(le.Uint32(data[12:])); blocks != c.blocks {
			t.Errorf("%d rows of up to %d bytes: %d blocks, want %d", c.n, c.size, blocks, c.blocks)
		}
	}
}

// TestRowFileDamage flips a bit of every byte and cuts at every byte: each is
// noticed. Another version has its own error.
func TestRowFileDamage(t *testing.T) {
	data, _ := rowFile(t, 5, 12)
	var corrupt *CorruptError
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 1 << (i % 8)
		if _, err := readRows(bad); !errors.As(err, &corrupt) {
			t.Errorf("flip in byte %d: error %v", i, err)
		}
		if _, err := readRows(data[:i]); !errors.As(err, &corrupt) {
			t.Errorf("cut at byte %d: error %v", i, err)
		}
	}
	if _, err := readRows(append(bytes.Clone(data), 0)); !errors.As(err, &corrupt) {
		t.Errorf("a byte too many: error %v", err)
	}
	le.PutUint32(data[8:], 2)
	le.PutUint32(data[24:], crc(data[:24]))
	var version *VersionError
	if _, err := readRows(data); !errors.As(err, &version) || version.Version != 2 {
		t.Errorf("version 2: error %v", err)
	}
}

func FuzzRowFile(f *testing.F) {
	for _, n := range []int{0, 1, 3} {
		data, _ := rowFile(f, n, 20)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= fileHeaderSize {
			le.PutUint32(data[24:], crc(data[:24]))
		}
		if len(data) >= fileHeaderSize+blockHeaderSize { // past the checksums of one block
			head := data[fileHeaderSize:]
			le.PutUint32(head[20:], crc(head[blockHeaderSize:]))
			le.PutUint32(head[24:], crc(head[:24]))
		}
		rows, err := readRows(data)
		if err != nil {
			return
		}
		b := encoding.NewTrainBatch(1)
		for _, row := range rows {
			b.Reset()
			_ = DecodeRow(b, row) // must not panic
		}
		var again bytes.Buffer
		if err := encodeFile(&again, rows); err != nil {
			t.Fatal(err)
		}
		if back, err := readRows(again.Bytes()); err != nil || !slices.EqualFunc(back, rows, bytes.Equal) {
			t.Fatalf("written again it has other rows: %v", err)
		}
	})
}
