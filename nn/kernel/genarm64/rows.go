package main

import "fmt"

// genAffine emits the passes over rows of channels with per-channel factors.
func genAffine(o *output) {
	for _, in := range []format{floats, halfRows} {
		affine(o, in, "affine", "computes y = max(floor, x*scale + shift).", "")
		affine(o, in, "affineRes", "computes y = max(floor, x*scale + shift + res).", "res")
		affine(o, in, "affine2", "computes y = u*uscale + x*scale + shift.", "u")
	}
}

// rowPass emits body for every panel of the rows; it moves the row pointers on
// and, within a row, pointers to the per-channel fields, which it hands to body.
// The second of rowPtrs points to numbers in the format in, the others to floats.
func rowPass(f *fn, in format, rowPtrs []gp, channelFields []string, body func(channels []gp)) {
	rows, width, skip, left := f.field("rows"), f.field("width"), f.field("skip"), f.gp()
	x, others := rowPtrs[1], append(rowPtrs[:1:1], rowPtrs[2:]...)
	channels := f.gps(len(channelFields))
	f.loop("row", rows, func() {
		for i, name := range channelFields {
			f.into(channels[i], name)
		}
		f.move(left, width)
		f.label("column")
		body(channels)
		f.advance(panelBytes, others...)
		f.advance(in.bytes(panelBytes), x)
		f.advance(panelBytes, channels...)
		f.ins("SUBS $%d, %v, %v", panelBytes, left, left)
		f.ins("BGT column")
		for _, p := range others {
			f.add(p, p, skip)
		}
		in.add(f, x, skip)
	})
}

// affine emits y = x*scale + shift, plus res and at least floor, or plus u*uscale; x is in
// the format s.
func affine(o *output, s format, name, doc, added string) {
	o.kernel(name+s.suffix(), "affineArgs", doc, func(f *fn) {
		rows, factors := []gp{f.field("y"), f.field("x")}, []string{"scale", "shift"}
		if added != "" {
			rows = append(rows, f.field(added))
		}
		var floor vec
		if added == "u" {
			factors = append(factors, "uscale")
		} else {
			floor = f.broadcast(f.gp(), "floor")
		}
		in, scale, sum := f.vecs(panelQuads), f.vecs(panelQuads), f.vecs(panelQuads)
		rowPass(f, s, rows, factors, func(ch []gp) {
			s.load(f, in, rows[1], 0)
			f.load(scale, ch[0], 0)
			f.load(sum, ch[1], 0)
			for j := range sum {
				f.op("fmla", sum[j], in[j], scale[j])
			}
			if added != "" {
				f.load(in, rows[2], 0)
			}
			if added == "u" {
				f.load(scale, ch[2], 0)
			}
			for j, s := range sum {
				switch added {
				case "res":
					f.op("fadd", s, s, in[j])
				case "u":
					f.op("fmla", s, in[j], scale[j])
				}
			}
			if added != "u" {
				for _, s := range sum {
					f.op("fmax", s, s, floor)
				}
			}
			f.store(sum, rows[0], 0)
		})
	})
}

// genColumnSums emits the column sums of u' and u'*(v-mean) over a block of
// rows, for groups of panels; u' is u, or u where mask > 0, else 0.
func genColumnSums(o *output) {
	for _, np := range []int{2, 1} {
		for _, in := range []format{floats, halfRows} {
			columnSums(o, in, np, "sumProduct", "sums %d columns of u and u*(v-mean).", false)
			columnSums(o, in, np, "sumProductMask", "sums %d columns of u and u*(v-mean) where mask > 0 and stores u or 0.", true)
		}
	}
}

// columnSums keeps the sums of all columns in registers and takes one panel of a
// row at a time. v is in the format in.
func columnSums(o *output, in format, np int, name, doc string, masked bool) {
	name = fmt.Sprintf("%s%d%s", name, np*16, in.suffix())
	o.kernel(name, "sumArgs", fmt.Sprintf(doc, np*16), func(f *fn) {
		s1, s2 := f.vecs(np*panelQuads), f.vecs(np*panelQuads)
		uv, vv, m := f.vecs(panelQuads), f.vecs(panelQuads), f.vecs(panelQuads)
		rows, stride, mean := f.field("rows"), f.field("stride"), f.field("mean")
		u, v := f.field("u"), f.field("v")
		ptrs := []gp{u}
		var mask, store gp
		if masked {
			mask, store = f.field("mask"), f.field("store")
			ptrs = append(ptrs, mask, store)
		}
		f.zero(s1...)
		f.zero(s2...)
		f.loop("row", rows, func() {
			for p := range np {
				d, q := p*panelBytes, p*panelQuads
				f.load(uv, u, d)
				if masked {
					f.load(vv, mask, d)
					for j := range uv {
						f.maskPositive(uv[j], vv[j])
					}
					f.store(uv, store, d)
				}
				for j := range uv {
					f.op("fadd", s1[q+j], s1[q+j], uv[j])
				}
				in.load(f, vv, v, in.bytes(d))
				f.load(m, mean, d)
				for j := range vv {
					f.op("fsub", vv[j], vv[j], m[j])
					f.op("fmla", s2[q+j], uv[j], vv[j])
				}
			}
			for _, p := range ptrs {
				f.add(p, p, stride)
			}
			in.add(f, v, stride)
		})
		f.into(stride, "s1")
		f.store(s1, stride, 0)
		f.into(stride, "s2")
		f.store(s2, stride, 0)
	})
}
