package shuffle

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// SplitBy says what decides whether a game is for training or validation.
type SplitBy string

// The two ways to split. Neither puts one game on both sides: a game that two
// files hold counts once.
const (
	// SplitByGame is the rule of every other source (record.IsValidation, by the
	// game's id): a run that changes its source never trains on a game that it
	// validated on before. The default.
	SplitByGame SplitBy = "game"

	// SplitByFile is KataGo's rule, by the MD5 of the file's base name. Names
	// repeat in the directories of several processes, and those files then fall
	// on the same side.
	SplitByFile SplitBy = "file"
)

// split decides the side of games.
type split struct {
	by    SplitBy
	share float64 // of validation, [0,1)
}

func (s split) validate() error {
	if s.by != SplitByGame && s.by != SplitByFile {
		return fmt.Errorf("split %q: want %s or %s", s.by, SplitByGame, SplitByFile)
	}
	if !(s.share >= 0 && s.share < 1) {
		return fmt.Errorf("validation-share %g: want 0 or more, below 1", s.share)
	}
	return nil
}

// validation says whether a game of a file is for validation.
func (s split) validation(path string, id [16]byte) bool {
	if s.by == SplitByFile {
		return FileShare(chunkName(path)) >= 1-s.share
	}
	return record.IsValidation(id, s.share)
}

// chunkName is the base name of a chunk once it is sealed, so that a growing one
// keeps its side.
func chunkName(path string) string {
	base := filepath.Base(path)
	if stem, ok := strings.CutSuffix(base, replay.GrowingSuffix); ok {
		return stem + replay.SealedSuffix
	}
	return base
}

// FileShare returns KataGo's number of a file, evenly spread over [0,1): the
// first 13 hexadecimal digits of the MD5 of its base name, divided by 2^52.
func FileShare(base string) float64 {
	sum := md5.Sum([]byte(base))
	n, err := strconv.ParseUint(hex.EncodeToString(sum[:])[:13], 16, 64)
	if err != nil {
		panic(err) // 13 hexadecimal digits always parse
	}
	return float64(n) / (1 << 52)
}
