package record

import "hash/crc32"

// The byte layout of a game (docs/FORMATS.md). All numbers are little endian;
// "varint" is the unsigned base-128 form in its shortest spelling.
//
//	magic    4   89 43 42 47 (0x89 "CBG")
//	version  1   1, or 2 where the body has results
//	length       varint: bytes of the body
//	body         header, moves, table, plies, results (version 2 only), extra
//	crc      4   CRC-32C of all bytes before it
//
//	header:  id 16 | start varint length, bytes | net id varint length, bytes |
//	         seed 8 | ordinal 8 | flags 2 | end 1 | white result 1 (int8) | number of plies varint
//	moves:   2 each: from | to << 6 | promotion << 12
//	table:   2 each: bytes of the ply's entry in plies
//	plies:   flags 1 | visits varint | weight 4 | kld 4 |
//	         root, best, played, orig: Q 4, D 4, M 4 each | kind 1 | policy
//	policy:  kind 0: nothing
//	         kind 1: varint number of pairs; each ordinal 1, varint visits (> 0)
//	         kind 2: 4 per legal move
//	results: Q 4, D 4, M 4 for each ply; there is at least one ply
//	extra:   varint length, bytes
const (
	magic   = "\x89CBG"
	version = 1

	versionResults = 2

	crcSize      = 4
	resultBytes  = 4 * 3
	minPlyEntry  = 1 + 1 + 4 + 4 + 4*12 + 1
	minPlyBytes  = 2 + 2 + minPlyEntry // with its move and its place in the table
	canonicalNaN = 0x7fc00000
)

// Every entry fits the table's 16 bits: at most 255 pairs of 1 + 5 bytes.
const _ uint16 = minPlyEntry + 4 + 2 + 255*6

var castagnoli = crc32.MakeTable(crc32.Castagnoli)
