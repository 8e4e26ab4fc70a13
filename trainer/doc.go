// Package trainer turns rows into a better net: it decides each step of the training,
// and a device takes it.
//
// A micro-batch goes through the net at once; a step is GradAccumSteps micro-batches and
// one change of the weights. The device (nn/device) holds weights, moments and average,
// and has the arithmetic: nn/cpu/train, or what Config.Device opens, such as nn/cuda. The
// trainer has the rest: rows and their order, losses and what is reported of them,
// learning rate, averaging, loss scale, skipped steps, and the state that a checkpoint
// keeps (trainer/checkpoint). A state of one device goes on on any other. Where the source
// is a Peeker the first micro-batch of the next step is on its way to the device while
// that works on this one.
//
//	cfg := trainer.DefaultConfig()
//	cfg.Losses = trainer.LossesFor(net.Arch, cfg.Losses)
//	t, err := trainer.New(net, cfg)
//	defer t.Close()
//	for {
//		stats, err := t.Step(ctx, rows) // rows is a BatchSource
//		...
//		fresh := t.Net() // a copy, for producers
//	}
//
// A loss or gradient that is not finite skips its step; ten in a row are
// ErrNonFinite, with the last good state left in place.
package trainer
