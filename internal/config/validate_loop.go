package config

import "strconv"

// validateLoop checks values of the loop section against each other.
func validateLoop(l *Loop, complain complainFunc) {
	if s := l.GetGatekeeper().GetSprt(); s.GetElo1() <= s.GetElo0() {
		complain("loop.gatekeeper.sprt.elo1", floatText(s.GetElo1()), "take 0 and 10, for example", "not above elo0, which is %s", floatText(s.GetElo0()))
	}
	if s := l.GetShuffle(); s.GetMaxRows() > 0 && s.GetMaxRows() < s.GetMinRows() {
		complain("loop.shuffle.max_rows", strconv.FormatInt(s.GetMaxRows(), 10), "take 0 for no limit", "below min_rows, which is %d", s.GetMinRows())
	}
	r := l.GetRating()
	if r.GetEngine() == "" && len(r.GetEngineNodes())+len(r.GetEngineSkill()) > 0 {
		complain("loop.rating.engine", "", "name its program, such as stockfish", "there are nodes or skill levels for no engine")
	}
}
