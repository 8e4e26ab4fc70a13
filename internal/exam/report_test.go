package exam

import (
	"strings"
	"testing"
)

// TestWriteExam holds the table of two nets.
func TestWriteExam(t *testing.T) {
	result := func(name string, right, mated int) *Report {
		e := &Report{Name: name, ValueReport: &ValueReport{
			Net: Count{Right: right, Asked: 24}, NotWalked: Count{Right: right / 2, Asked: 16}, Rule: Count{Right: 16, Asked: 24},
			Confusion: [3][3]int{{right, 8, 8}}, ByEnding: map[string]Count{"KPK": {Right: 7, Asked: 14}},
		}, Mates: map[string]*MateReport{}}
		for _, p := range Pieces {
			e.Mates[endings[p]] = &MateReport{Played: 8, Mated: mated}
		}
		return e
	}
	var out strings.Builder
	if err := Write(&out, []*Report{result("run_step7", 18, 8), result("untrained", 8, 1)}, Options{Visits: 100, Moves: 50}); err != nil {
		t.Fatal(err)
	}
	const want = `Value head on 24 held-out positions, and won positions mated by 100 visits a move
within 50 moves against the longest defence:

                    run_step7      untrained      stronger side wins
value               75.0 % of 24   33.3 % of 24   66.7 % of 24
  never in a game   56.2 % of 16   25.0 % of 16
KQK value           -              -
KRK value           -              -
KPK value           50.0 % of 14   50.0 % of 14
KQK mated           100.0 % of 8   12.5 % of 8
KRK mated           100.0 % of 8   12.5 % of 8
KPK mated           100.0 % of 8   12.5 % of 8

run_step7, truth x answer (win draw loss): [[18 8 8] [0 0 0] [0 0 0]]

untrained, truth x answer (win draw loss): [[8 8 8] [0 0 0] [0 0 0]]
`
	if got := trimLines(out.String()); got != trimLines(want) {
		t.Errorf("got\n%s", out.String())
	}
}

// trimLines drops spaces at line ends.
func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
