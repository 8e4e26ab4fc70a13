package kernels

import "github.com/chessbrain/chessbrain/nn/cuda/driver"

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

// Attend launches the attention of all heads, each by one block a board.
func Attend(t Type, a AttendArgs) Launch {
	const threads, squares = 128, 64 // ATTENTION_THREADS
	shared := 2 * squares * (64 + 8) * t.Size()
	if t == F32 {
		shared = squares * (2*(32+1) + squares + 1) * t.Size()
	}
	l := inRow("attend_"+t.String(), int(a.Heads), threads, shared, &a)
	l.Grid = driver.Dim{X: int(a.Heads), Y: int(a.Boards), Z: 1}
	return l
}

// AttentionPolicy launches the priors of up to boards.
func AttentionPolicy(t Type, a AttentionPolicyArgs, boards int) Launch {
	return inRow("attention_policy_"+t.String(), boards, 128, 0, &a)
}
