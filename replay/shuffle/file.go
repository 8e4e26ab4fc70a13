package shuffle

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay"
)

// A row file (data*.rows) holds packed rows in blocks, so that any row is found
// without reading those before its block. Little endian; CRC is CRC-32C.
//
//	header   0  magic "CBROWS\r\n"
//	         8  version u32 = 1
//	        12  blocks u32
//	        16  rows u64
//	        24  CRC of bytes 0..23 u32
//
//	block    0  magic ff 'R' 'O' 'W'
//	         4  payload length u32
//	         8  number of its first row in the file u64
//	        16  rows u32
//	        20  CRC of the payload u32
//	        24  CRC of bytes 0..23 u32
//	        28  payload: for each row a uvarint length and the packed row (row.go)
//
// Files are written whole, synced and then renamed: one that is there is complete.
const (
	fileVersion     = 1
	fileHeaderSize  = 28
	blockHeaderSize = 28
	blockRows       = 1024
	blockBytes      = 256 << 10 // a block is closed when it has reached this
	maxBlockBytes   = blockBytes + maxRowBytes + 8

	rowsSuffix = ".rows"
)

var (
	fileMagic  = []byte("CBROWS\r\n")
	blockMagic = []byte("\xffROW")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

func crc(p []byte) uint32 { return crc32.Checksum(p, castagnoli) }

// block is the place of one block in its file.
type block struct {
	offset   int64 // of its payload
	size     int
	firstRow int64
	rows     int
	sum      uint32
}

// appendFileHeader appends the header of a file.
func appendFileHeader(dst []byte, blocks int, rows int64) []byte {
	at := len(dst)
	dst = append(dst, fileMagic...)
	dst = le.AppendUint32(dst, fileVersion)
	dst = le.AppendUint32(dst, uint32(blocks))
	dst = le.AppendUint64(dst, uint64(rows))
	return le.AppendUint32(dst, crc(dst[at:]))
}

// appendBlockHeader appends the header of a block with the given payload.
func appendBlockHeader(dst []byte, payload []byte, firstRow int64, rows int) []byte {
	at := len(dst)
	dst = append(dst, blockMagic...)
	dst = le.AppendUint32(dst, uint32(len(payload)))
	dst = le.AppendUint64(dst, uint64(firstRow))
	dst = le.AppendUint32(dst, uint32(rows))
	dst = le.AppendUint32(dst, crc(payload))
	return le.AppendUint32(dst, crc(dst[at:]))
}

// encodeFile writes a row file of the rows, in order.
func encodeFile(w io.Writer, rows [][]byte) error {
	ends := cutBlocks(rows)
	if _, err := w.Write(appendFileHeader(nil, len(ends), int64(len(rows)))); err != nil {
		return err
	}
	var payload, header []byte
	from := 0
	for _, end := range ends {
		payload = payload[:0]
		for _, row := range rows[from:end] {
			payload = binary.AppendUvarint(payload, uint64(len(row)))
			payload = append(payload, row...)
		}
		header = appendBlockHeader(header[:0], payload, int64(from), end-from)
		for _, p := range [][]byte{header, payload} {
			if _, err := w.Write(p); err != nil {
				return err
			}
		}
		from = end
	}
	return nil
}

// cutBlocks returns where each block of the rows ends.
func cutBlocks(rows [][]byte) (ends []int) {
	from, size := 0, 0
	for i, row := range rows {
		size += len(row) + 2
		if i+1-from == blockRows || size >= blockBytes || i+1 == len(rows) {
			ends = append(ends, i+1)
			from, size = i+1, 0
		}
	}
	return ends
}

// RowFile is an open row file. Used by one goroutine.
type RowFile struct {
	io.Closer
	path   string
	r      io.ReaderAt
	size   int64
	rows   int64
	blocks []block
}

// OpenRowFile opens a row file and reads the places of its blocks. Damage is a
// *CorruptError, another format a *VersionError.
func OpenRowFile(fsys fsx.FS, path string) (*RowFile, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("open rows: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open rows: %w", err)
	}
	rf, err := newRowFile(path, f, info.Size())
	if err != nil {
		f.Close()
		return nil, err
	}
	rf.Closer = f
	return rf, nil
}

// newRowFile reads the header and those of the blocks.
func newRowFile(path string, r io.ReaderAt, size int64) (*RowFile, error) {
	f := &RowFile{path: path, r: r, size: size}
	head, err := f.read(0, fileHeaderSize)
	if err != nil {
		return nil, err
	}
	if string(head[:8]) != string(fileMagic) || le.Uint32(head[24:]) != crc(head[:24]) {
		return nil, f.corrupt(0, "no valid header of a row file")
	}
	if v := le.Uint32(head[8:]); v != fileVersion {
		return nil, &VersionError{Path: path, Version: v}
	}
	blocks, rows := int64(le.Uint32(head[12:])), int64(le.Uint64(head[16:]))
	if blocks > (size-fileHeaderSize)/blockHeaderSize {
		return nil, f.corrupt(12, "%d blocks in %d bytes", blocks, size)
	}
	offset := int64(fileHeaderSize)
	for range blocks {
		b, err := f.blockHeader(offset)
		if err != nil {
			return nil, err
		}
		f.blocks = append(f.blocks, b)
		f.rows += int64(b.rows)
		offset = b.offset + int64(b.size)
	}
	if f.rows != rows || offset != size {
		return nil, f.corrupt(offset, "%d rows and %d bytes, want %d and %d", f.rows, size, rows, offset)
	}
	return f, nil
}

// blockHeader reads the header of the next block, which stands at offset.
func (f *RowFile) blockHeader(offset int64) (block, error) {
	head, err := f.read(offset, blockHeaderSize)
	if err != nil {
		return block{}, err
	}
	b := block{offset: offset + blockHeaderSize, size: int(le.Uint32(head[4:])), firstRow: int64(le.Uint64(head[8:])),
		rows: int(le.Uint32(head[16:])), sum: le.Uint32(head[20:])}
	switch {
	case string(head[:4]) != string(blockMagic), le.Uint32(head[24:]) != crc(head[:24]):
		return b, f.corrupt(offset, "no valid block header")
	case b.firstRow != f.rows, b.rows == 0, b.size > maxBlockBytes, b.rows > b.size:
		return b, f.corrupt(offset, "block of %d rows from %d in %d bytes, after %d rows", b.rows, b.firstRow, b.size, f.rows)
	case int64(b.size) > f.size-b.offset:
		return b, f.corrupt(offset, "block is cut off: %d of %d bytes are there", f.size-b.offset, b.size)
	}
	return b, nil
}

func (f *RowFile) corrupt(offset int64, format string, args ...any) error {
	return &CorruptError{Path: f.path, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// read returns n bytes at offset.
func (f *RowFile) read(offset int64, n int) ([]byte, error) {
	if offset+int64(n) > f.size {
		return nil, f.corrupt(offset, "cut off: %d bytes wanted, %d are there", n, f.size-offset)
	}
	data := make([]byte, n)
	if k, err := f.r.ReadAt(data, offset); k < n {
		return nil, fmt.Errorf("read %s at %d: %w", f.path, offset, err)
	}
	return data, nil
}

// readBlock returns the packed rows of block k; they share one array.
func (f *RowFile) readBlock(k int) ([][]byte, error) {
	b := &f.blocks[k]
	payload, err := f.read(b.offset, b.size)
	if err != nil {
		return nil, err
	}
	if crc(payload) != b.sum {
		return nil, f.corrupt(b.offset, "block checksum differs")
	}
	rows, err := splitRows(payload, b.rows)
	if err != nil {
		return nil, f.corrupt(b.offset, "%v", err)
	}
	return rows, nil
}

// splitRows cuts a payload into its n rows.
func splitRows(payload []byte, n int) ([][]byte, error) {
	d := replay.Decoder{Data: payload}
	rows := make([][]byte, 0, min(n, len(payload)))
	for d.More() {
		rows = append(rows, d.Bytes(maxRowBytes))
	}
	if len(rows) != n {
		d.Fail("%d rows, want %d", len(rows), n)
	}
	return rows, d.Err
}
