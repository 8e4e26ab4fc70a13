// Package rescore holds the built-in rescorers: they change what a finished
// game teaches before it is stored or sampled. Moves never change.
//
//	identity            nothing
//	syzygy              results and plies left from endgame tables
//	deblunder           results before a blunder from the search's best move
//	policy-temperature  sharpens or flattens the policy targets
//	plies-left          the plies that a game that was cut would have gone on
//
// A stage is made by name with its settings, each instance with its own, and
// stages are chained in the order in which they are to work (Leela's is syzygy,
// policy-temperature, deblunder):
//
//	tables, err := rescore.New("syzygy", map[string]string{"paths": "tables/wdl:tables/dtz"})
//	blunders, err := rescore.New("deblunder", map[string]string{"threshold": "0.1"})
//	game, err = rescore.Chain{tables, blunders}.Rescore(ctx, game)
//
// [Definitions] lists the stages and settings; a setting that a stage does not
// have or a value that it cannot use is an error that says what is allowed.
// Outcomes of single positions go to [record.Game.Results]; the game's own
// result, its end and its moves stay the facts they are. A stage is safe for
// concurrent use, and equal games give equal results on every machine.
package rescore
