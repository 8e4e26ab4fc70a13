package arena

import (
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/record"
)

// End says why a game of a match ended. It is the name of the record.EndReason
// where there is one ("checkmate", "fifty-moves", "max-plies"), else a word of
// its own. The names are in logs and PGN.
type End string

// Mate, and the ends of a game that no rule of chess brings about.
const (
	EndCheckmate  End = "checkmate"
	EndMaxPlies   End = "max-plies"      // the limit of plies: a draw
	EndTablebase  End = "tablebase"      // the endgame tables know the result
	EndResign     End = "resign"         // a player's scores were hopeless (Adjudication)
	EndDrawScore  End = "draw-score"     // both players' scores were even for long (Adjudication)
	EndTime       End = "time-forfeit"   // overstepped the time: a loss
	EndIllegal    End = "illegal-move"   // an engine's move is illegal: a loss
	EndEngineDied End = "engine-failure" // an engine crashed, hung or spoke nonsense: a loss
)

// endOf returns the end of a game that is over by the rules, "" where it goes
// on.
func endOf(t chess.Terminal) End {
	if t == chess.NotOver {
		return ""
	}
	return End(record.EndOf(t).String())
}

// String returns the name.
func (e End) String() string { return string(e) }

// Failed reports whether a player lost by its own failure and not on the board.
func (e End) Failed() bool { return e == EndTime || e == EndIllegal || e == EndEngineDied }

// termination returns the value of PGN's Termination tag (standard, section
// 9.8.1).
func (e End) termination() string {
	switch e {
	case EndMaxPlies, EndTablebase, EndResign, EndDrawScore:
		return "adjudication"
	case EndTime:
		return "time forfeit"
	case EndIllegal:
		return "rules infraction"
	case EndEngineDied:
		return "abandoned"
	}
	return "normal"
}
