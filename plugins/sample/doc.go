// Package sample holds the built-in samplers: they choose which rows of the
// window are trained on.
//
//	uniform            rows in proportion to their weight
//	hanse              games by length, then their positions in turn (lczero-training)
//	position-selector  the final, the penultimate or every k-th position of each game
//	diff-focus         rows whose search moved far from the raw network (lczero-training)
//	prioritized        prioritized replay with importance-sampling weights (Schaul et al. 2016)
//
// A sampler is made by name with its settings, and asked for rows again and again
// while the window slides; the caller keeps its state:
//
//	s, err := sample.Definition("diff-focus").MakeSampler(map[string]string{"q_weight": "4"})
//	d := stage.Draw{Seed: 7, Stream: 1, Index: window.View(), Rows: 256}
//	refs, d.State, err = s.Sample(ctx, d, nil)
//
// What a sampler knows of the window beside its state is a pure function of the
// games that it holds, kept up to date at a cost in proportion to what changed:
// equal state, games and settings give equal rows on every machine, whether the
// sampler followed the window or has just been made. Weights
// are whole numbers, so that sums do not depend on their order. One goroutine at
// a time.
package sample
