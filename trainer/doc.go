// Package trainer turns rows into a better net: the training graph, losses,
// optimizers, gradient accumulation, learning-rate schedule, weight averaging,
// and the checkpoints that hold all of it.
//
// A micro-batch goes through the net at once; a step is GradAccumSteps
// micro-batches and one change of the weights. The graph is Gorgonia's, with one
// operation for the input, one for each residual block, and one for all heads
// with their losses; their forward and backward passes run the functions of
// nn/kernel over fixed slices of boards on a worker pool, in phases between the
// barriers that batch norm needs: it uses the statistics of the micro-batch
// (Evaluate uses the running ones, as inference does). Sums run in slice order, so
// the weights are bit-equal for every number of workers. With Config.Precision BF16
// the 3x3 convolutions multiply bf16 factors, forward and backward, where the CPU can,
// and their outputs wait for the backward pass in bf16; weights, sums, statistics and
// all else stay fp32, whose range needs no loss scaling.
//
// With Config.Device a device does all of that (nn/device), and holds weights, moments
// and average; the trainer fetches them when somebody asks. Steps, schedule, skips,
// averages and measures are the same code, and checkpoints of either go on in the
// other. While the device works on a micro-batch the next one is on its way to it,
// across steps too where the source is a Peeker.
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
//
// A checkpoint is a directory <job>_step<NNNNNNNN> with one file per
// stage.Section, plain files such as the net, and manifest.json with their
// hashes; the file "current" beside it names the one to go on from:
//
//	err = trainer.SaveCheckpoint(fsx.OS, dir, trainer.CheckpointName(job, t.NumSteps()),
//		trainer.Manifest{Job: job, Step: t.NumSteps()}, []stage.Section{t.Section(), sampler.Section()})
//	c, err := trainer.LoadCheckpoint(fsx.OS, dir) // falls back to the one before; see c.Warnings
//	unclaimed, err := c.Restore([]stage.Section{t.Section(), sampler.Section()})
package trainer
