package kernel

import "math"

// SGDNesterov updates w in place: g' = g + decay*w, m = momentum*m + g',
// w -= lr*(g' + momentum*m). All have len(w); g is not changed. This is
// Nesterov momentum as PyTorch's SGD(nesterov=True, dampening=0) defines it;
// decay is L2 (coupled).
func SGDNesterov(w, g, m []float32, lr, momentum, decay float32) {
	g, m = g[:len(w)], m[:len(w)]
	if f := vectors().sgd; f != nil {
		vecUpdate(f, &optArgs{lr: bits32(lr), momentum: bits32(momentum), decay: bits32(decay)}, w, g, m, nil)
		return
	}
	for i := range w {
		d := g[i] + decay*w[i]
		m[i] = momentum*m[i] + d
		w[i] -= lr * (d + momentum*m[i])
	}
}

// AdamW updates w in place with decoupled weight decay (Loshchilov and Hutter,
// 2019): m = b1*m + (1-b1)*g, v = b2*v + (1-b2)*g*g,
// w = w - lr*decay*w - lr*(m/bc1)/(sqrt(v/bc2) + eps), where bc1 = 1-b1^t and
// bc2 = 1-b2^t for step t = 1, 2, ... All slices have len(w).
func AdamW(w, g, m, v []float32, lr, b1, b2, eps, decay, bc1, bc2 float32) {
	g, m, v = g[:len(w)], m[:len(w)], v[:len(w)]
	if f := vectors().adamw; f != nil {
		a := adamArgs(lr, b1, b2, eps, decay, bc2)
		a.bc1 = bits32(bc1)
		vecUpdate(f, &a, w, g, m, v)
		return
	}
	for i := range w {
		m[i] = b1*m[i] + (1-b1)*g[i]
		v[i] = b2*v[i] + (1-b2)*g[i]*g[i]
		den := float32(math.Sqrt(float64(v[i]/bc2))) + eps
		w[i] = w[i] - lr*decay*w[i] - lr*(m[i]/bc1)/den
	}
}

// adamArgs are what AdamW and NAdamW have in common.
func adamArgs(lr, b1, b2, eps, decay, bc2 float32) optArgs {
	return optArgs{
		lr: bits32(lr), decay: bits32(lr * decay), eps: bits32(eps), bc2: bits32(bc2),
		b1: bits32(b1), c1: bits32(1 - b1), b2: bits32(b2), c2: bits32(1 - b2),
	}
}

// NAdamW updates w in place as AdamW does, but for the direction of the step. It looks
// ahead as Nesterov's momentum does (Dozat, 2016): cm*m + cg*g takes the place of m/bc1.
// All slices have len(w).
func NAdamW(w, g, m, v []float32, lr, b1, b2, eps, decay, cm, cg, bc2 float32) {
	g, m, v = g[:len(w)], m[:len(w)], v[:len(w)]
	if f := vectors().nadamw; f != nil {
		a := adamArgs(lr, b1, b2, eps, decay, bc2)
		a.cm, a.cg = bits32(cm), bits32(cg)
		vecUpdate(f, &a, w, g, m, v)
		return
	}
	for i := range w {
		m[i] = b1*m[i] + (1-b1)*g[i]
		v[i] = b2*v[i] + (1-b2)*g[i]*g[i]
		den := float32(math.Sqrt(float64(v[i]/bc2))) + eps
		w[i] = w[i] - lr*decay*w[i] - lr*(cm*m[i]+cg*g[i])/den
	}
}
