package kernels

// Activations that attention.cu has beside those of all kernels.
const (
	ActReLU2 = ActMish + 1 + iota
	ActSwish
	ActSELU
)

// Men launches the men of each board as a row.
func Men(t Type, a MenArgs) Launch { return inRow("men_"+t.String(), int(a.Boards), 256, 0, &a) }

// Embed launches planes beside what is said to each square.
func Embed(t Type, a EmbedArgs) Launch {
	return perWarp("embed_"+t.String(), 8, int(a.Boards)*64, &a)
}

// LayerNorm launches y = norm(scale*act(x) + skip)*mul + add.
func LayerNorm(t Type, a LayerNormArgs) Launch {
	return perWarp("layer_norm_"+t.String(), 8, int(a.Rows), &a)
}

// tiles are the bytes of shared memory of so many operands and stored tiles of attention_tile.cuh.
func tiles(t Type, operands, stored int) int {
	const squares = 64
	if t == F32 {
		return squares * (operands*(16+1) + stored*(squares+1)) * t.Size()
	}
	return squares * (operands + stored) * (64 + 8) * t.Size()
}

// attention is a kernel with a block of ATTENTION_THREADS for each head of each board.
func attention[A any](kernel string, t Type, heads, boards int32, shared int, a *A) Launch {
	l := inRow(kernel+t.String(), int(heads), 128, shared, a)
	l.Grid.Y = int(boards)
	return l
}

// Attend launches the attention of all heads.
func Attend(t Type, a AttendArgs) Launch {
	return attention("attend_", t, a.Heads, a.Boards, tiles(t, 2, 1), &a)
}

// AttendBackward launches its gradients.
func AttendBackward(t Type, a AttendBackwardArgs) Launch {
	return attention("attend_backward_", t, a.Heads, a.Boards, tiles(t, 3, 2), &a)
}

// AttentionLogits launches the scores of all moves.
func AttentionLogits(t Type, a AttentionLogitsArgs) Launch {
	return attention("attention_logits_", t, a.Boards, 1, tiles(t, 2, 0), &a)
}

// AttentionLogitsBackward launches their gradients.
func AttentionLogitsBackward(t Type, a AttentionLogitsBackwardArgs) Launch {
	return attention("attention_logits_backward_", t, a.Boards, 1, tiles(t, 2, 1), &a)
}

// NormParts returns how many parts of sums LayerNormBackward writes.
func NormParts(rows int) int { return ceil(rows, normRows) }

const normRows = 64 // NORM_ROWS

// LayerNormBackward launches LayerNorm's gradients.
func LayerNormBackward(t Type, a LayerNormBackwardArgs) Launch {
	threads := max(64, min(256, ceil(int(a.Width), 32)*32))
	return inRow("layer_norm_backward_"+t.String(), NormParts(int(a.Rows)), threads, normRows*4*4, &a)
}

// GateBackward launches the gradients of gates.
func GateBackward(t Type, a GateBackwardArgs) Launch {
	const threads = 64
	l := inRow("gate_backward_"+t.String(), ceil(int(a.Width), threads), threads, 0, &a)
	l.Grid.Y = 64
	return l
}

// SaidGradient launches that of what Embed puts behind the planes.
func SaidGradient(t Type, a SaidGradientArgs) Launch {
	return perWarp("said_gradient_"+t.String(), 8, int(a.Boards)*64, &a)
}

// AttentionPolicy launches the priors of up to boards.
func AttentionPolicy(t Type, a AttentionPolicyArgs, boards int) Launch {
	return inRow("attention_policy_"+t.String(), boards, 128, 0, &a)
}
