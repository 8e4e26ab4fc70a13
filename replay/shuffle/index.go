package shuffle

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay"
)

// The index (games.index in the output directory) remembers which games the
// sealed chunks hold and how many rows each has, so that a shuffle reads only
// the window's files and the new ones. It is a cache: deleting it is safe.
// Little endian.
//
//	0  magic "CBINDEX\n"
//	8  version u32 = 1
//	12 files u32
//	   for each: uvarint length and path, u64 size, 16 bytes of the SHA-256 of the
//	   file's last 68 bytes (a chunk's footer, which holds the hash of all of it),
//	   uvarint games, for each its 16-byte id and uvarint rows
//	   CRC-32C of all before u32
const (
	indexName    = "games.index"
	indexVersion = 1
	footerBytes  = 68
)

var indexMagic = []byte("CBINDEX\n")

// errIndex says that an index cannot be used.
var errIndex = errors.New("the index of games is damaged")

// fileKey identifies a sealed chunk and its content. The zero key is of a file
// that is not remembered.
type fileKey struct {
	path string
	size int64
	tail [16]byte
}

// index maps chunks to their games.
type index map[fileKey][]gameRows

// keyOf returns the key of a sealed chunk; the zero key where it has none.
func keyOf(fsys fsx.FS, c *chunk) fileKey {
	if c.growing() || c.bytes < footerBytes {
		return fileKey{}
	}
	tail, err := replay.ReadPart(fsys, c.path, c.bytes-footerBytes, footerBytes)
	if err != nil {
		return fileKey{} // reading all of it says what is wrong
	}
	sum := sha256.Sum256(tail)
	return fileKey{path: c.path, size: c.bytes, tail: [16]byte(sum[:16])}
}

// encode returns the index as bytes; the same index gives the same bytes.
func (x index) encode() []byte {
	keys := slices.SortedFunc(maps.Keys(x), func(a, b fileKey) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.size, b.size), slices.Compare(a.tail[:], b.tail[:]))
	})
	data := append([]byte(nil), indexMagic...)
	data = le.AppendUint32(data, indexVersion)
	data = le.AppendUint32(data, uint32(len(keys)))
	for _, k := range keys {
		data = binary.AppendUvarint(data, uint64(len(k.path)))
		data = append(data, k.path...)
		data = le.AppendUint64(data, uint64(k.size))
		data = append(data, k.tail[:]...)
		data = binary.AppendUvarint(data, uint64(len(x[k])))
		for _, g := range x[k] {
			data = append(data, g.id[:]...)
			data = binary.AppendUvarint(data, uint64(g.rows))
		}
	}
	return le.AppendUint32(data, crc(data))
}

// decodeIndex reads an index; the error is errIndex with the place.
func decodeIndex(data []byte) (index, error) {
	n := len(data) - 4
	if n < 16 || string(data[:8]) != string(indexMagic) || crc(data[:n]) != le.Uint32(data[n:]) {
		return nil, fmt.Errorf("%w: header or checksum differs", errIndex)
	}
	if v := le.Uint32(data[8:]); v != indexVersion {
		return nil, fmt.Errorf("%w: version %d", errIndex, v)
	}
	d := replay.Decoder{Data: data[:n], Pos: 16}
	x := index{}
	for range le.Uint32(data[12:]) {
		var k fileKey
		k.path = string(d.Bytes(1 << 16))
		k.size = int64(d.U64())
		copy(k.tail[:], d.Take(len(k.tail)))
		count := int(d.Uvarint(uint64(n) / 17)) // a game takes 17 bytes or more
		if d.Err != nil || count > (n-d.Pos)/17 {
			return nil, fmt.Errorf("%w at byte %d", errIndex, d.Pos)
		}
		games := make([]gameRows, count)
		for i := range games {
			copy(games[i].id[:], d.Take(16))
			games[i].rows = uint32(d.Uvarint(1 << 31))
		}
		x[k] = games
	}
	if d.End() != nil {
		return nil, fmt.Errorf("%w at byte %d", errIndex, d.Pos)
	}
	return x, nil
}

// readIndex returns the index at path; none is no error.
func readIndex(fsys fsx.FS, path string) (index, error) {
	data, err := fsx.ReadFile(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read index: %w", err)
	}
	return decodeIndex(data)
}
