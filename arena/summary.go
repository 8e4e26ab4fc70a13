package arena

// Count is wins, draws and losses of player 1.
type Count struct {
	Wins   int `json:"wins"`
	Draws  int `json:"draws"`
	Losses int `json:"losses"`
}

// Games returns the number of games.
func (c Count) Games() int { return c.Wins + c.Draws + c.Losses }

// Points returns player 1's points: 1 for a win, 1/2 for a draw.
func (c Count) Points() float64 { return float64(c.Wins) + float64(c.Draws)/2 }

func (c *Count) add(result int) {
	switch result {
	case 1:
		c.Wins++
	case 0:
		c.Draws++
	default:
		c.Losses++
	}
}

// Summary is the result of a match in figures.
type Summary struct {
	Count                      // of all games
	White       Count          `json:"white"`       // of the games in which player 1 had white
	Black       Count          `json:"black"`       // and black
	Pentanomial Pentanomial    `json:"pentanomial"` // of the pairs of which both games are finished
	Estimate    Estimate       `json:"estimate"`    // of all games, with the error of these pairs
	Ends        map[string]int `json:"ends"`        // games by end reason
	MeanPlies   Figure         `json:"mean_plies"`  // of a game, its opening included; NaN without games
}

// Summarise counts the games of a match, in ascending order of their numbers.
func Summarise(games []Game) Summary {
	s := Summary{Ends: map[string]int{}}
	plies := 0
	for i := range games {
		g := &games[i]
		result := g.Result(0)
		s.add(result)
		[]*Count{&s.White, &s.Black}[g.White].add(result)
		s.Ends[string(g.End)]++
		plies += len(g.Moves)
		if g.Number%2 == 1 && i > 0 && games[i-1].Number == g.Number-1 {
			s.Pentanomial[2+result+games[i-1].Result(0)]++
		}
	}
	s.Estimate = EstimateElo(s.Pentanomial).Of(s.Count)
	s.MeanPlies = Figure(float64(plies) / float64(len(games)))
	return s
}
