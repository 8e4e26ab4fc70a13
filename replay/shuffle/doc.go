// Package shuffle is KataGo's way from games to training rows: it takes the
// newest games until a window is full, keeps a share of their rows, puts those
// into an order in which every permutation is equally likely, and writes them
// to files that a trainer reads from front to back.
//
//	o := shuffle.Options{InputDirs: []string{"run/selfplay"}, OutputDir: "run/shuffled",
//		Settings: shuffle.DefaultSettings(), Now: time.Now()}
//	m, err := shuffle.Run(ctx, o)
//	if short := (*shuffle.ShortError)(nil); errors.As(err, &short) {
//		fmt.Println(short) // have M rows, need N
//	}
//
// A shuffle is a directory <time> with train/*.rows, val/*.rows and the marker
// train.json; it appears whole, by one rename. Training from it:
//
//	src, err := shuffle.OpenLatest(fsx.OS, "run/shuffled")
//	err = src.Next(ctx, batch) // io.EOF after the last row
//	if newer, err := src.Newer(); newer != nil {
//		bucket.Add(newer.Range[1] - src.Manifest().Range[1]) // new rows
//		src.Advance(newer)
//	}
//
// The window's formula is in window.go, the packed row in row.go and boards.go,
// the row file in file.go. Rows are the positions with a policy and a weight
// above 0, each once; the weight goes into the loss. Memory: the buckets'
// (Options.Memory), a game file a thread, and some 60 bytes a game found.
package shuffle
