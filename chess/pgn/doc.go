// Package pgn reads and writes games in Portable Game Notation (PGN standard,
// 1994), Chess960 included.
//
// Write uses the rules of package chess only. Read splits the text by game with
// its own scanner, which understands what files from the wild hold (comments of
// both kinds, variations, NAGs, escape lines, CRLF, games without tags), has
// each standard game decoded by github.com/notnil/chess from a clean copy, and
// checks every move it answers against package chess. That library panics on a
// comment before the first move, reads words of ; comments and % lines as moves,
// skips castling with zeros and null moves without a word, refuses moves with
// more origin than needed, and knows no Chess960; the clean copy avoids these,
// and what it cannot read (Chess960, for one) package chess reads by itself.
//
// ReadOptions can keep the comments, where engines leave their evaluations, and can
// do without that library, for large files.
//
// Games are decoded in parallel and delivered in file order. A bad game costs
// that game only:
//
//	err := pgn.Read(f, pgn.ReadOptions{}, func(g *pgn.Game) error {
//		fmt.Println(g.Tag("White"), len(g.Moves), g.Result)
//		return nil
//	})
//	var bad *pgn.ReadError
//	if errors.As(err, &bad) {
//		log.Printf("%d games not read, the first: %v", bad.Total, bad.Games[0])
//	}
package pgn
