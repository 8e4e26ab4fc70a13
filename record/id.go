package record

import (
	"crypto/sha256"
	"encoding/binary"
)

// idDomain separates game ids from other hashes.
const idDomain = "chessbrain game 1\x00"

// GameID returns the id of a process's game: the first 16 bytes of the SHA-256
// of "chessbrain game 1", a zero byte, and the three numbers as little-endian
// 64-bit words. Processes of one run have different numbers, so that two of
// them never give one id to two games.
func GameID(runSeed, process, ordinal uint64) [16]byte {
	var buf [len(idDomain) + 24]byte
	n := copy(buf[:], idDomain)
	binary.LittleEndian.PutUint64(buf[n:], runSeed)
	binary.LittleEndian.PutUint64(buf[n+8:], process)
	binary.LittleEndian.PutUint64(buf[n+16:], ordinal)
	sum := sha256.Sum256(buf[:])
	return [16]byte(sum[:16])
}

// IsValidation reports whether the game belongs to the validation share and
// must never be trained on. The rule is fixed: the first 8 bytes of the
// SHA-256 of the id, as a little-endian number without its 11 lowest bits,
// divided by 2^64, is below share. A game in a share is in every larger one.
func IsValidation(id [16]byte, share float64) bool {
	sum := sha256.Sum256(id[:])
	// 53 bits are exact in a float64, and stay below 1.
	return float64(binary.LittleEndian.Uint64(sum[:])>>11)/(1<<53) < share
}
