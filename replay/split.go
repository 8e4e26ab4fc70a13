package replay

import "github.com/chessbrain/chessbrain/record"

// Split keeps validation games out of training: each game goes as a whole into
// one of two windows, by record.IsValidation of its id, so that positions of
// one game are never on both sides and a restart decides the same.
type Split struct {
	Train, Validation *Window
	share             float64
}

// NewSplit returns two empty windows. share of the games, 0..1, go to the
// validation window.
func NewSplit(trainRows, validationRows int, share float64) *Split {
	return &Split{Train: NewWindow(trainRows), Validation: NewWindow(validationRows), share: share}
}

// Window returns the window that a game belongs to.
func (s *Split) Window(id [16]byte) *Window {
	if record.IsValidation(id, s.share) {
		return s.Validation
	}
	return s.Train
}
