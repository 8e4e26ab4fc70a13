package main

import "fmt"

// genAffine emits the passes over rows of channels with per-channel factors.
func genAffine(o *output) {
	affine(o, "affine", "computes y = max(floor, x*scale + shift).", false)
	affine(o, "affineRes", "computes y = max(floor, x*scale + shift + res).", true)
	affine2(o, "affine2", "computes y = u*uscale + x*scale + shift.", false)
	affine2(o, "affine2Mask", "computes y = (mask > 0 ? u : 0)*uscale + x*scale + shift.", true)
}

// rowPass emits body for every panel of the rows; it moves the row pointers on
// and, within a row, pointers to the per-channel fields, which it hands to body.
func rowPass(f *fn, rowPtrs []gp, channelFields []string, body func(channels []gp)) {
	rows, width, skip, left := f.field("rows"), f.field("width"), f.field("skip"), f.gp()
	channels := f.gps(len(channelFields))
	f.loop("row", rows, func() {
		for i, name := range channelFields {
			f.into(channels[i], name)
		}
		f.move(left, width)
		f.label("column")
		body(channels)
		f.advance(panelBytes, rowPtrs...)
		f.advance(panelBytes, channels...)
		f.ins("SUBS $%d, %v, %v", panelBytes, left, left)
		f.ins("BGT column")
		for _, p := range rowPtrs {
			f.add(p, p, skip)
		}
	})
}

func affine(o *output, name, doc string, res bool) {
	o.kernel(name, "affineArgs", doc, func(f *fn) {
		y, x := f.field("y"), f.field("x")
		ptrs := []gp{y, x}
		if res {
			ptrs = append(ptrs, f.field("res"))
		}
		floor := f.broadcast(f.gp(), "floor")
		in, scale, sum := f.vecs(panelQuads), f.vecs(panelQuads), f.vecs(panelQuads)
		rowPass(f, ptrs, []string{"scale", "shift"}, func(ch []gp) {
			f.load(in, x, 0)
			f.load(scale, ch[0], 0)
			f.load(sum, ch[1], 0)
			for j := range sum {
				f.op("fmla", sum[j], in[j], scale[j])
			}
			if res {
				f.load(in, ptrs[2], 0)
				for j := range sum {
					f.op("fadd", sum[j], sum[j], in[j])
				}
			}
			for _, s := range sum {
				f.op("fmax", s, s, floor)
			}
			f.store(sum, y, 0)
		})
	})
}

func affine2(o *output, name, doc string, masked bool) {
	o.kernel(name, "affineArgs", doc, func(f *fn) {
		y, x, u := f.field("y"), f.field("x"), f.field("u")
		ptrs := []gp{y, x, u}
		if masked {
			ptrs = append(ptrs, f.field("mask"))
		}
		in, scale, sum := f.vecs(panelQuads), f.vecs(panelQuads), f.vecs(panelQuads)
		rowPass(f, ptrs, []string{"scale", "shift", "uscale"}, func(ch []gp) {
			f.load(in, x, 0)
			f.load(scale, ch[0], 0)
			f.load(sum, ch[1], 0)
			for j := range sum {
				f.op("fmla", sum[j], in[j], scale[j])
			}
			f.load(in, u, 0)
			if masked {
				f.load(scale, ptrs[3], 0)
				for j := range in {
					f.maskPositive(in[j], scale[j])
				}
			}
			f.load(scale, ch[2], 0)
			for j := range sum {
				f.op("fmla", sum[j], in[j], scale[j])
			}
			f.store(sum, y, 0)
		})
	})
}

// genColumnSums emits the column sums of u' and u'*(v-mean) over a block of
// rows, for groups of panels.
func genColumnSums(o *output) {
	for _, np := range []int{2, 1} {
		columnSums(o, np, "sum", false, false, false)
		columnSums(o, np, "sumProduct", true, false, false)
		columnSums(o, np, "sumProductMask", true, true, false)
		columnSums(o, np, "sumProductMaskStore", true, true, true)
	}
}

// columnSums keeps the sums of all columns in registers and takes one panel of a
// row at a time.
func columnSums(o *output, np int, name string, product, masked, store bool) {
	name = fmt.Sprintf("%s%d", name, np*16)
	o.kernel(name, "sumArgs", fmt.Sprintf("sums %d columns.", np*16), func(f *fn) {
		s1, uv, vv := f.vecs(np*panelQuads), f.vecs(panelQuads), f.vecs(panelQuads)
		var s2 []vec
		rows, stride, mean := f.field("rows"), f.field("stride"), f.field("mean")
		var ptrs []gp
		ptr := func(on bool, field string) (r gp) {
			if on {
				r = f.field(field)
				ptrs = append(ptrs, r)
			}
			return r
		}
		u, v := ptr(true, "u"), ptr(product, "v")
		mask, st := ptr(masked, "mask"), ptr(store, "store")
		f.zero(s1...)
		var m []vec
		if product {
			s2, m = f.vecs(np*panelQuads), f.vecs(panelQuads)
			f.zero(s2...)
		}
		f.loop("row", rows, func() {
			for p := range np {
				d, q := p*panelBytes, p*panelQuads
				f.load(uv, u, d)
				if masked {
					f.load(vv, mask, d)
					for j := range uv {
						f.maskPositive(uv[j], vv[j])
					}
				}
				if store {
					f.store(uv, st, d)
				}
				for j := range uv {
					f.op("fadd", s1[q+j], s1[q+j], uv[j])
				}
				if product {
					f.load(vv, v, d)
					f.load(m, mean, d)
					for j := range vv {
						f.op("fsub", vv[j], vv[j], m[j])
						f.op("fmla", s2[q+j], uv[j], vv[j])
					}
				}
			}
			for _, p := range ptrs {
				f.add(p, p, stride)
			}
		})
		f.into(stride, "s1")
		f.store(s1, stride, 0)
		if product {
			f.into(stride, "s2")
			f.store(s2, stride, 0)
		}
	})
}
