package nn

// Auxiliary is the output of a head that play does not use: what became of the position
// in its game. Learning it teaches the body. It stands last in Arch.Heads.
const Auxiliary = "auxiliary"

// What an auxiliary head gives, one after the other. Squares are as the side to move
// sees them; a sparse net's are mirrored with its features (encoding.Sparse).
const (
	AuxSurvive  = 0   // [64] logits: the man on a square is not taken within encoding.AheadPlies
	AuxFrom     = 64  // [64] logits of the square that the opponent's reply leaves
	AuxTo       = 128 // [64] and of the one that it goes to
	AuxMaterial = 192 // encoding.AheadPlies later, ours less theirs, in units of 5 pawns
	AuxValue    = 193 // tanh of it is the short-term value, Q
	AuxError    = 194 // softplus of it is the square of that value's error

	NumAuxiliary = 195
)

// usualAuxUnits are the units before an auxiliary head's outputs.
const usualAuxUnits = 64

// WithAuxiliary returns a with an auxiliary head, where it has none.
func (a Arch) WithAuxiliary() Arch {
	h := Head{Output: Auxiliary, Kind: HeadFlattened, Channels: 16, Hidden: usualAuxUnits}
	if a.Sparse() {
		h = Head{Output: Auxiliary, Kind: HeadDense, Hidden: usualAuxUnits}
	}
	return a.with(h)
}
