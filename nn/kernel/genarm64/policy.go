package main

// genPolicy emits single outputs of a 3x3 convolution in bf16, for the few that a position's
// legal moves name: y[i] += sum of the 9 taps' products over the channels. The input has a
// border of zeros; the weights of an output are [panels of words][9][16].
func genPolicy(o *output) {
	o.kernel("policyDotsBF16", "policyArgs", "adds single outputs of a 3x3 convolution to y.", func(f *fn) {
		const taps = 3 // along files, and along ranks
		x, w, jobs, y, n := f.field("x"), f.field("w"), f.field("jobs"), f.field("y"), f.field("n")
		row, square, panel := f.field("row"), f.field("square"), f.field("panel")
		ranks, p, wp, left := f.gps(taps), f.gp(), f.gp(), f.gp()
		acc, xv, wv := f.grid(taps, panelQuads), f.grid(2, panelQuads), f.grid(2, panelQuads)
		f.loop("job", n, func() {
			f.ins("MOVWU (%v), %v", jobs, p)
			f.ins("MOVWU 4(%v), %v", jobs, wp)
			f.add(wp, wp, w)
			f.add(ranks[0], p, x)
			f.add(ranks[1], ranks[0], row)
			f.add(ranks[2], ranks[1], row)
			for _, a := range acc {
				f.zero(a...)
			}
			f.into(left, "panels")
			f.loop("channels", left, func() {
				for rank, r := range ranks {
					f.move(p, r)
					for file := range taps {
						tap := rank*taps + file
						in, weights := xv[tap%2], wv[tap%2]
						f.load(in, p, 0)
						f.load(weights, wp, tap*panelBytes)
						for j, a := range acc[rank] {
							f.halves("bfdot", a, in[j], weights[j])
						}
						if file < taps-1 {
							f.add(p, p, square)
						}
					}
					f.add(r, r, panel)
				}
				f.advance(taps*taps*panelBytes, wp)
			})
			for j, a := range acc[0] {
				f.op("fadd", a, a, acc[1][j])
				f.op("fadd", a, a, acc[2][j])
			}
			s := acc[0]
			f.op("fadd", s[0], s[0], s[1])
			f.op("fadd", s[2], s[2], s[3])
			f.op("fadd", s[0], s[0], s[2])
			f.op("faddp", s[0], s[0], s[0])
			f.op("faddp", s[0], s[0], s[0])
			f.ins("FMOVS (%v), F%d", y, s[1])
			f.ins("FADDS F%d, F%d, F%d", s[1], s[0], s[0])
			f.ins("FMOVS F%d, (%v)", s[0], y)
			f.advance(4, y)
			f.advance(8, jobs)
		})
	})
}
