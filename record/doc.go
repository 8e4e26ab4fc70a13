// Package record is the game record: what one finished game leaves behind, its
// validation, its byte codec and the replay of its moves into training rows.
// It touches no files; package replay stores the bytes.
//
// A [Game] holds the start position, the moves, and for each position the
// search's policy, value estimates and weight. Positions are not stored: a
// [Replayer] plays the moves again and encodes the wanted ones, which keeps a
// position at 100-300 bytes instead of Leela's 8356.
//
//	g := &record.Game{ID: record.GameID(seed, process, ordinal), NetID: "b4c32-s0", ...}
//	g.Plies = append(g.Plies, record.Ply{Move: m, Kind: record.PolicyCounts, Counts: visits, ...})
//	bytes, err := record.Append(nil, g) // validates; refuses what is not a legal game
//	...
//	g, n, err := record.Decode(bytes) // *CorruptError says where and what
//	var r record.Replayer
//	err = r.AppendRow(batch, g, 17) // the position before move 17 as a training row
//
// Perspective: every Q is from the view of the side to move of its position;
// only [Game.WhiteResult] is white's. Moves are from the mover's view, castling
// is king takes own rook. Counts and Probs lie beside the legal moves in the
// order in which chess generates them; the bytes do not depend on that order
// (docs/FORMATS.md describes them).
package record
