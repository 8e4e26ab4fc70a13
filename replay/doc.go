// Package replay keeps finished games: durable on disk in chunk files, and in
// memory in a window from which training rows are drawn.
//
// Writing (one goroutine; a game counts after the Sync that follows it):
//
//	w := replay.NewWriter(fsx.OS, dir, replay.WriterOptions{NetID: id})
//	err := w.Append(game) // buffered
//	err = w.Sync()        // durable
//	err = w.Close()       // footer, *.games.tmp becomes *.games
//
// Reading back after a start, whatever happened before it:
//
//	scan, err := replay.ScanDir(ctx, fsx.OS, "run/selfplay")
//	split := replay.NewSplit(1_000_000, 0.05)
//	for _, g := range scan.Games {
//		split.Window(g.ID).Add(g)
//	}
//
// Training: a Source draws rows of the window through a stage.Sampler and
// fills batches; Prefetch prepares them in advance. Both save their cursor:
//
//	src := replay.NewSource(split.Train, sample.NewUniform(), seed, stream)
//	batches := replay.Prefetch(src, 2)
//	defer batches.Close()
//	err = batches.Next(ctx, batch)
//
// Only rows meant for training are drawn: positions with a policy and a weight
// above 0, in proportion to that weight. Games are immutable once handed over.
//
// The chunk format is described in format.go.
package replay
