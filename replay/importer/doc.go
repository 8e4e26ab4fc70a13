// Package importer makes game records of PGN: what people and engines played
// becomes training data.
//
// [Convert] makes one record of one game: the move played as policy target
// (one-hot or smoothed), the result, and with annotations the evaluations that
// engines left in comments as root values. [Importer] reads whole files, leaves
// out what the user does not want, counts and names what cannot be read, and
// writes chunk files that `chessbrain train --source dir` takes:
//
//	im, err := importer.Open(ctx, importer.Options{Dir: "games", MinPlies: 10})
//	f, err := importer.OpenFile("masters.pgn.gz")
//	err = im.Read(ctx, "masters.pgn.gz", f)
//	err = im.Close() // nil: every imported game is on stable storage
//	fmt.Println(im.Report().Imported)
//
// A game's id is a hash of its moves, start, result and tags, so that importing
// a file twice, or going on after a kill, adds nothing twice. Its tags stand in
// record.Game.Extra (see [AppendTags]).
package importer
