// Package rating makes one list of Elo ratings from the results of many matches
// between many players.
//
//	list, err := rating.Fit([]rating.Result{
//		{A: "net-2", B: "net-1", Wins: 30, Draws: 40, Losses: 10},
//		{A: "net-1", B: "random", Wins: 39, Draws: 1},
//	}, map[string]float64{"random": 0})
//	for _, r := range list.Ratings {
//		fmt.Printf("%s %.0f +- %.0f\n", r.Name, r.Elo, 1.96*r.Error)
//	}
//
// The model is the logistic curve of Elo: a player d points above another scores
// 1/(1+10^(-d/400)) a game, and a draw is half a win and half a loss (as ordo
// counts it; Bradley and Terry 1952). So two players of one match get the Elo
// difference that the match itself reports. The ratings are those of maximum
// likelihood; anchors are held where they are. Standard errors come from the
// curvature of the likelihood, corrected for draws, which vary less than a win or a
// loss (the sandwich of Huber and White): see variance.
//
// Results alone do not always have a finite answer: a player that won all its
// games is infinitely strong. Only the pairings that this comes from share a virtual
// draw, and Rating.Prior tells whom that concerns. Players that no
// chain of games connects cannot be compared: they form groups, each with a zero
// of its own, and Rating.Group says which.
package rating
