package replay

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// A chunk file holds games in blocks, each written at once and synced. While
// it grows it is called *.games.tmp, and *.games from the moment it is whole.
// Little endian; CRC is CRC-32C (Castagnoli). A block's payload has a CRC-32
// (IEEE) instead: each game in it ends with its own CRC-32C, and a CRC over
// bytes that end with the same CRC is always the same number.
//
//	header   0  magic "CBGAMES\n"
//	         8  version u32 = 1
//	        12  length n of the names u32
//	        16  net id, run id: each uvarint length and bytes
//	      16+n  CRC of all bytes before u32
//
//	block    0  magic ff 'B' 'L' 'K'
//	         4  payload length u32
//	         8  offset of this block in the file u64
//	        16  games u32
//	        20  positions u32
//	        24  CRC-32 (IEEE) of the payload u32
//	        28  CRC of bytes 0..27 u32
//	        32  payload: the games one after the other (record.Append)
//
//	footer   0  magic ff 'E' 'N' 'D'
//	         4  blocks u32
//	         8  offset of the footer in the file u64
//	        16  games u64
//	        24  positions u64
//	        32  SHA-256 of all bytes before the footer
//	        64  CRC of bytes 0..63 u32
//
// A block knows its own offset, so no bytes elsewhere (in a game's text, from
// another chunk) can pass for one: after damage the reader looks for the next
// block header that verifies. A file without a footer is torn: its whole blocks
// count, the rest is reported.
const (
	chunkVersion    = 1
	headerFixed     = 16
	maxNames        = 1 << 12
	blockHeaderSize = 32
	footerSize      = 68

	// maxPayload bounds what one block may hold, and what a reader believes.
	maxPayload = 64 << 20
	// maxChunk bounds the files that are read.
	maxChunk = 1 << 30
)

// Names of chunk files.
const (
	SealedSuffix  = ".games"
	GrowingSuffix = ".games.tmp"
)

var (
	headerMagic = []byte("CBGAMES\n")
	blockMagic  = []byte("\xffBLK")
	footerMagic = []byte("\xffEND")

	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	le         = binary.LittleEndian
)

func crc(p []byte) uint32        { return crc32.Checksum(p, castagnoli) }
func payloadSum(p []byte) uint32 { return crc32.ChecksumIEEE(p) }

// appendHeader appends a file header.
func appendHeader(dst []byte, netID, runID string) ([]byte, error) {
	var names []byte
	for _, s := range []string{netID, runID} {
		names = binary.AppendUvarint(names, uint64(len(s)))
		names = append(names, s...)
	}
	if len(names) > maxNames {
		return nil, fmt.Errorf("net id and run id have %d bytes, at most %d are possible", len(names), maxNames)
	}
	from := len(dst)
	dst = append(dst, headerMagic...)
	dst = le.AppendUint32(dst, chunkVersion)
	dst = le.AppendUint32(dst, uint32(len(names)))
	dst = append(dst, names...)
	return le.AppendUint32(dst, crc(dst[from:])), nil
}

// fileHeader is a parsed header.
type fileHeader struct {
	version      uint32
	netID, runID string
	size         int
}

// parseHeader reads the header at the start of data. short: data may be the
// beginning of a good header.
func parseHeader(data []byte) (h fileHeader, short bool, reason string) {
	n := min(len(data), len(headerMagic))
	if string(data[:n]) != string(headerMagic[:n]) {
		return h, false, "no chunk header"
	}
	if len(data) < headerFixed {
		return h, true, "header is cut off"
	}
	names := int(le.Uint32(data[12:]))
	if names > maxNames {
		return h, false, "header is damaged"
	}
	h.size = headerFixed + names + 4
	if len(data) < h.size {
		return h, true, "header is cut off"
	}
	if crc(data[:h.size-4]) != le.Uint32(data[h.size-4:]) {
		return h, false, "header checksum differs"
	}
	h.version = le.Uint32(data[8:])
	d := Decoder{Data: data[headerFixed : h.size-4]}
	if h.netID, h.runID = string(d.Bytes(maxNames)), string(d.Bytes(maxNames)); d.Err != nil {
		return h, false, "header names are damaged"
	}
	return h, false, ""
}

// blockHeader is the parsed fixed part of a block.
type blockHeader struct {
	payload          int
	games, positions int
	sum              uint32 // of the payload
}

// putBlockHeader writes the header of a block whose payload follows at
// dst[blockHeaderSize:].
func putBlockHeader(dst []byte, offset int64, games, positions int) {
	payload := dst[blockHeaderSize:]
	copy(dst, blockMagic)
	le.PutUint32(dst[4:], uint32(len(payload)))
	le.PutUint64(dst[8:], uint64(offset))
	le.PutUint32(dst[16:], uint32(games))
	le.PutUint32(dst[20:], uint32(positions))
	le.PutUint32(dst[24:], payloadSum(payload))
	le.PutUint32(dst[28:], crc(dst[:28]))
}

// parseBlockHeader reads a block header that stands at the given file offset.
func parseBlockHeader(data []byte, offset int64) (h blockHeader, ok bool) {
	if len(data) < blockHeaderSize || string(data[:4]) != string(blockMagic) ||
		le.Uint32(data[28:]) != crc(data[:28]) || le.Uint64(data[8:]) != uint64(offset) {
		return h, false
	}
	h = blockHeader{payload: int(le.Uint32(data[4:])), games: int(le.Uint32(data[16:])),
		positions: int(le.Uint32(data[20:])), sum: le.Uint32(data[24:])}
	return h, h.payload <= maxPayload
}

// footer is the parsed end of a sealed chunk.
type footer struct {
	blocks, games, positions int64
	sum                      [sha256.Size]byte
}

// appendFooter appends a footer that stands at the given file offset.
func appendFooter(dst []byte, offset int64, f footer) []byte {
	from := len(dst)
	dst = append(dst, footerMagic...)
	dst = le.AppendUint32(dst, uint32(f.blocks))
	dst = le.AppendUint64(dst, uint64(offset))
	dst = le.AppendUint64(dst, uint64(f.games))
	dst = le.AppendUint64(dst, uint64(f.positions))
	dst = append(dst, f.sum[:]...)
	return le.AppendUint32(dst, crc(dst[from:]))
}

// parseFooter reads a footer that stands at the given file offset.
func parseFooter(data []byte, offset int64) (f footer, ok bool) {
	if len(data) < footerSize || string(data[:4]) != string(footerMagic) ||
		le.Uint32(data[64:]) != crc(data[:64]) || le.Uint64(data[8:]) != uint64(offset) {
		return f, false
	}
	f = footer{blocks: int64(le.Uint32(data[4:])), games: int64(le.Uint64(data[16:])), positions: int64(le.Uint64(data[24:]))}
	copy(f.sum[:], data[32:64])
	return f, true
}
