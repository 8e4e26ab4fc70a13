package chunks

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/chessbrain/chessbrain/record"
)

// Tally counts the results and lengths of games.
type Tally struct {
	results  [3]int // black won, draw, white won
	aborted  int
	lengths  []int
	rows     int
	ends     map[string]int
	forms    map[string]int
	chess960 int
}

// NewTally returns a Tally of no games.
func NewTally() *Tally { return &Tally{ends: map[string]int{}, forms: map[string]int{}} }

// Add counts a game.
func (t *Tally) Add(g *Game) {
	if g.Rec.End == record.EndAborted {
		t.aborted++
	} else {
		t.results[g.Rec.WhiteResult+1]++
	}
	t.lengths = append(t.lengths, len(g.Rec.Plies))
	t.rows += g.Rec.NumRows()
	t.ends[g.Rec.End.String()]++
	form := "games"
	if g.Records != nil {
		form = fmt.Sprintf("V%d format %d", g.Records[0].Version, g.Records[0].InputFormat)
	}
	t.forms[form]++
	if g.Rec.Flags&record.Chess960 != 0 {
		t.chess960++
	}
}

// Distribution is what a Tally came to. Shares are of the games with a result.
type Distribution struct {
	Games    int            `json:"games"`
	WhiteWon int            `json:"white_won"`
	Draws    int            `json:"draws"`
	BlackWon int            `json:"black_won"`
	Aborted  int            `json:"aborted"`
	Shares   [3]float64     `json:"shares"` // white won, draw, black won
	Plies    Lengths        `json:"plies"`
	Rows     int            `json:"rows"` // positions to train on
	Ends     map[string]int `json:"ends"`
	Forms    map[string]int `json:"forms"`
	Chess960 int            `json:"chess960"`
}

// Lengths describes the lengths of games in plies.
type Lengths struct {
	Sum    int     `json:"sum"`
	Mean   float64 `json:"mean"`
	Min    int     `json:"min"`
	P10    int     `json:"p10"`
	Median int     `json:"median"`
	P90    int     `json:"p90"`
	Max    int     `json:"max"`
}

// Report sums up.
func (t *Tally) Report() Distribution {
	d := Distribution{Games: len(t.lengths), WhiteWon: t.results[2], Draws: t.results[1], BlackWon: t.results[0], Aborted: t.aborted,
		Rows: t.rows, Ends: t.ends, Forms: t.forms, Chess960: t.chess960}
	if n := d.Games - d.Aborted; n > 0 {
		for i, k := range [3]int{d.WhiteWon, d.Draws, d.BlackWon} {
			d.Shares[i] = float64(k) / float64(n)
		}
	}
	if d.Games == 0 {
		return d
	}
	sorted := slices.Sorted(slices.Values(t.lengths))
	at := func(share int) int { return sorted[(len(sorted)-1)*share/100] }
	d.Plies = Lengths{Min: at(0), P10: at(10), Median: at(50), P90: at(90), Max: at(100)}
	for _, n := range sorted {
		d.Plies.Sum += n
	}
	d.Plies.Mean = float64(d.Plies.Sum) / float64(d.Games)
	return d
}

// Write prints a table.
func (d *Distribution) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "games\t%d\n", d.Games)
	for i, row := range []struct {
		name string
		n    int
	}{{"white won", d.WhiteWon}, {"draw", d.Draws}, {"black won", d.BlackWon}} {
		fmt.Fprintf(w, "%s\t%d\t%.1f %%\n", row.name, row.n, 100*d.Shares[i])
	}
	if d.Aborted > 0 {
		fmt.Fprintf(w, "no result\t%d\n", d.Aborted)
	}
	fmt.Fprintf(w, "plies\t%d\tmean %.1f, min %d, 10 %% %d, median %d, 90 %% %d, max %d\n", d.Plies.Sum, d.Plies.Mean,
		d.Plies.Min, d.Plies.P10, d.Plies.Median, d.Plies.P90, d.Plies.Max)
	fmt.Fprintf(w, "rows\t%d\tpositions to train on\n", d.Rows)
	for _, group := range []struct {
		name   string
		counts map[string]int
	}{{"end", d.Ends}, {"form", d.Forms}} {
		for _, name := range slices.Sorted(maps.Keys(group.counts)) {
			fmt.Fprintf(w, "%s\t%d\t%s\n", group.name, group.counts[name], name)
		}
	}
	if d.Chess960 > 0 {
		fmt.Fprintf(w, "chess960\t%d\n", d.Chess960)
	}
	return w.Flush()
}
