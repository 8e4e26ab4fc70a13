package encoding

import "github.com/chessbrain/chessbrain/chess"

// manValue is what a kind of man counts in an exchange, in pawns. A king's is more than all
// others together.
var manValue = [6]int{1, 3, 3, 5, 9, 100}

// Outcomes of an exchange, by its value from -4 to 4.
var exchangeOutcomes = [9]uint16{0, 1, 1, 2, 3, 4, 5, 5, 6}

const numOutcomes = 7 // loses 4 pawns or more, 2 or 3, one; even; wins 1, 2 or 3, 4 or more

// attackerValue is of what attacks a square the least man's value, at most.
var attackerValue = [attackLevels]int{byPawn: 1, byMinor: 3, byOther: 100}

// outcome says what comes of it that a man of ours goes from one square to another where it
// takes what is worth so much: a number below numOutcomes.
func (s *Sparse) outcome(man, from, to uint, won int) uint16 {
	if level := s.attacks[1].level(to); level != byNone {
		// What takes the man is lost in its turn, at worst for them.
		worst, best := won-manValue[man], won-max(manValue[man]-attackerValue[level], 0)
		if of := exchangeOutcome(best); of == exchangeOutcome(worst) {
			return of
		}
		won = s.exchange(man, from, to, won)
	}
	return exchangeOutcome(won)
}

func exchangeOutcome(won int) uint16 { return exchangeOutcomes[min(max(won, -4), 4)+4] }

// exchange is what is won in pawns, from -4 to 4, where both sides take on that square as
// long as it pays, each with its least man, men behind others among them. Kings take only
// last.
func (s *Sparse) exchange(man, from, to uint, won int) int {
	sq, at := chess.Square(to&63), uint64(1)<<(to&63)
	occupied := s.occupied &^ (1 << from)
	takers := s.sets[0]&(at>>7&notA|at>>9&notH) | s.sets[planeTheirs]&(at<<7&notH|at<<9&notA) |
		(s.sets[1]|s.sets[planeTheirs+1])&chess.Attacks(chess.Knight, sq, 0) | (s.sets[5]|s.sets[planeTheirs+5])&chess.Attacks(chess.King, sq, 0) |
		s.diagonal&chess.BishopAttacks(sq, occupied) | s.straight&chess.RookAttacks(sq, occupied)
	// What the side whose turn it is has won so far, and the bounds of an alpha-beta search.
	balance, low, high := -won, max(-won, -4), 4
	side, stands := planeTheirs, manValue[man]
	for ; ; side ^= planeTheirs {
		takers &= occupied
		if balance += stands; balance <= low || takers&s.squares[side/planeTheirs] == 0 {
			break
		}
		own, kind := s.sets[side:][:6], 0
		for kind < 5 && takers&own[kind] == 0 {
			kind++
		}
		if kind == 5 && takers&s.squares[1-side/planeTheirs] != 0 {
			break
		}
		taker := takers & own[kind]
		occupied &^= taker & -taker
		if stands = manValue[kind]; kind != 1 { // what stood behind it may see the square now
			takers |= s.diagonal&chess.BishopAttacks(sq, occupied) | s.straight&chess.RookAttacks(sq, occupied)
		}
		balance, low, high = -balance, -min(high, balance), -low
	}
	if side == 0 {
		return low
	}
	return -low
}
