// Package sample holds the built-in samplers: they choose which rows of the
// window are trained on.
//
//	s, err := sample.New("uniform")
//	s.(stage.Seeder).Seed(7, 1)
//	refs, err := s.Sample(ctx, window.View(), 256, nil)
package sample
