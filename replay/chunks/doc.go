// Package chunks walks over games wherever they lie (Leela's chunks as .gz or
// .tar, our own *.games, directories of all of them) and does what tools for
// chunks do: dump the records as text, count results and lengths, average the
// policy of the start position, weigh positions by diff focus, copy the chunks that pass a filter.
//
//	t := chunks.NewTally()
//	problems, err := chunks.Walk(ctx, fsx.OS, []string{"training-1.tar", "runs/a/selfplay"}, func(g *chunks.Game) error {
//		t.Add(g)
//		return nil
//	})
//	fmt.Println(t.Report().WhiteWon)
//
// What is damaged costs a block, a game or a member, is named among the
// problems, and the rest goes on.
package chunks
