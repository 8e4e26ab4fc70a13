// Package checkpoint keeps a run's state in directories that survive a crash.
//
// A checkpoint is a directory <job>_step<NNNNNNNN> with one file per
// stage.Section, plain files such as the net, and manifest.json with their
// hashes; the file "current" beside it names the one to go on from:
//
//	err := checkpoint.Save(fsx.OS, dir, checkpoint.Name(job, t.NumSteps()),
//		checkpoint.Manifest{Job: job, Step: t.NumSteps()}, []stage.Section{t.Section(), sampler.Section()})
//	c, err := checkpoint.Load(fsx.OS, dir) // falls back to the one before; see c.Warnings
//	unclaimed, err := c.Restore([]stage.Section{t.Section(), sampler.Section()})
package checkpoint
