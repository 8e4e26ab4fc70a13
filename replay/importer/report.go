package importer

import (
	"errors"
	"fmt"
)

// Bad is a game, or the rest of a file, that could not be imported.
type Bad struct {
	File   string `json:"file"`
	Game   int    `json:"game"` // number in the file, from 1; 0 = the file itself
	Line   int    `json:"line"` // where the game begins or the fault stands, from 1; 0 = not known
	Reason string `json:"reason"`
}

func (b Bad) String() string {
	if b.Game == 0 {
		return fmt.Sprintf("%s: %s", b.File, b.Reason)
	}
	return fmt.Sprintf("%s:%d: game %d: %s", b.File, b.Line, b.Game, b.Reason)
}

// Report says what became of the games that were read:
// Read = Imported + Duplicates + ShortOfElo + ShortOfPlies + BadGames.
type Report struct {
	Files        int            `json:"files"`
	Read         int64          `json:"read"`
	Imported     int64          `json:"imported"`     // on stable storage after Close
	Duplicates   int64          `json:"duplicates"`   // in the directory before, or read twice
	ShortOfElo   int64          `json:"short_of_elo"` // WhiteElo or BlackElo below MinElo, or missing
	ShortOfPlies int64          `json:"short_of_plies"`
	BadGames     int64          `json:"bad_games"`
	BadFiles     int            `json:"bad_files"` // of which the rest could not be read
	Bad          []Bad          `json:"bad,omitempty"`
	Positions    int64          `json:"positions"` // of the imported games
	Annotated    int64          `json:"annotated"` // of them, with a root value
	NoResult     int64          `json:"no_result"` // imported games without a result: they teach moves only
	Ends         map[string]int `json:"ends,omitempty"`
	Chunks       int64          `json:"lc0_chunks"`
	NoChunk      int64          `json:"lc0_left_out"` // games that Leela's records cannot hold: without a result, or beyond the fifty-move rule
	Before       int64          `json:"games_before"` // games in the directory at the start
}

// maxListed bounds Report.Bad; the counts are whole.
const maxListed = 100

// ErrBadGames says that games were left out because they could not be read.
var ErrBadGames = errors.New("bad games")

// Err is ErrBadGames with the counts, nil where all was read.
func (r *Report) Err() error {
	if r.BadGames == 0 && r.BadFiles == 0 {
		return nil
	}
	rest := ""
	if r.BadFiles > 0 {
		rest = fmt.Sprintf(", and the rest of %d files", r.BadFiles)
	}
	return fmt.Errorf("%w were left out: %d%s; correct them and import again, what is there is not added twice",
		ErrBadGames, r.BadGames, rest)
}
