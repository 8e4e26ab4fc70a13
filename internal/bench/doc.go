// Package bench measures how fast this machine is at what the program does:
// kernels, inference, training steps, tree work of the search and self-play; and
// how far a net's answers in bf16 are from those in fp32 ([ComparePrecisions]), and
// how fast games pass through a plugin ([Plugins]).
//
// Machines are noisy (other processes, frequency steps, virtual cores), and noise
// only ever makes a run slower. Every measurement therefore repeats short runs
// for about the given duration and reports the fastest: what the code can do on
// this core, not what it got on average. The core's peak is measured the same
// way, before and after.
//
// Games are measured otherwise ([Search], [SelfPlay]): rates are per CPU-second of
// the process and medians of windows, after a warm-up, with games in all phases; a
// self-play worker's rate stands beside that of pure inference in windows between
// its own, so that noise that changes both alike cancels in their quotient.
//
// A GPU is measured by [OnDevice] - evaluations, training steps and self-play, with
// the share of the time in which the device works, from events around all that is put
// on its streams - and held against the CPU by [CheckDevice].
//
// Operations are nominal: [nn.Arch.FLOPs] a board, taps that fall off the board
// and policy outputs that nobody asked for counted; a training step counts three
// forward passes. A share of the peak is
//
//	gflops / (threads * the core's peak in the same tier and precision)
//
// The nominal count can exceed what is done, and a share can exceed 1: Winograd's
// form of a 3x3 convolution needs a quarter of the products. With several threads
// a run counts until the last of them is through, so that they need cores of their
// own: on a busy machine two threads may look like one.
//
// Positions come from seeded random legal play, nets are freshly initialised with
// a fixed seed: speed does not depend on the weights.
//
// All measure in the CPU tier that is active ([kernel.SetTier]): run one at a time, with
// no other user of the kernels.
//
//	arch, _ := nn.ParseArch("64x6")
//	o := bench.Options{Arch: arch, Batch: 64, Threads: 1, Duration: time.Second}
//	speed, err := bench.Infer(o)
//	if err != nil {
//		return err
//	}
//	fmt.Printf("%.0f boards/s, %.0f %% of the peak\n", speed.BoardsPerSecond, 100*speed.ShareOfPeak)
package bench
