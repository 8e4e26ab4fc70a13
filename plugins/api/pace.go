package api

// pace says how many draws to ask for at once. As a rule an index is drawn from
// as often as the one before it, as where a trainer does so many steps for each
// game; beyond that the bursts begin small and double.
type pace struct {
	used     int // draws handed out from this index
	expected int // of them, by the index before; 0 = not known
	next     int // size of the next burst beyond the expected
}

// turn begins another index.
func (p *pace) turn() { *p = pace{expected: p.used, next: 1} }

// miss says that draws of the last burst were not wanted.
func (p *pace) miss() { p.expected, p.next = 0, 1 }

// burst returns the size of the next burst, at least 1.
func (p *pace) burst() int {
	if rest := p.expected - p.used; rest > 0 {
		return min(rest, maxAhead)
	}
	n := p.next
	p.next = min(2*n, maxAhead)
	return n
}
