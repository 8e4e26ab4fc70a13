// Package rescore holds the built-in rescorers: they change what a finished
// game teaches before it is stored or sampled.
//
//	r, err := rescore.New("identity")
//	game, err = r.Rescore(ctx, game)
package rescore
