// Package signatures knows the argument structs of the CUDA kernels. A test that imports it
// has checked devices hold the pointers in them to live memory.
package signatures

import (
	"reflect"
	"strings"

	"github.com/chessbrain/chessbrain/internal/testing/checked"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
)

func init() { checked.RegisterArguments(Of) }

// All lists the argument structs by the kernels' names, or by what those
// that end in "_" begin with; the longest that fits counts.
var All = map[string]reflect.Type{
	"conv_":                      reflect.TypeFor[kernels.ConvArgs](),
	"wgrad_":                     reflect.TypeFor[kernels.WgradArgs](),
	"wgrad_reduce":               reflect.TypeFor[kernels.WgradReduceArgs](),
	"column_sums_":               reflect.TypeFor[kernels.ColumnSumsArgs](),
	"pack_":                      reflect.TypeFor[kernels.PackArgs](),
	"gather":                     reflect.TypeFor[kernels.GatherArgs](),
	"expand_":                    reflect.TypeFor[kernels.ExpandArgs](),
	"bn_forward":                 reflect.TypeFor[kernels.BNForwardArgs](),
	"bn_backward":                reflect.TypeFor[kernels.BNBackwardArgs](),
	"bn_input_":                  reflect.TypeFor[kernels.BNInputArgs](),
	"se_forward_":                reflect.TypeFor[kernels.SEForwardArgs](),
	"se_backward_":               reflect.TypeFor[kernels.SEBackwardArgs](),
	"outer_":                     reflect.TypeFor[kernels.OuterArgs](),
	"join_":                      reflect.TypeFor[kernels.JoinArgs](),
	"join_backward_":             reflect.TypeFor[kernels.JoinBackwardArgs](),
	"policy_loss_":               reflect.TypeFor[kernels.PolicyLossArgs](),
	"scalar_loss_":               reflect.TypeFor[kernels.ScalarLossArgs](),
	"aux_loss_":                  reflect.TypeFor[kernels.AuxLossArgs](),
	"nadamw":                     reflect.TypeFor[kernels.StepArgs](),
	"prepare_gradient":           reflect.TypeFor[kernels.PrepareGradientArgs](),
	"finish_norm":                reflect.TypeFor[kernels.FinishNormArgs](),
	"sgd":                        reflect.TypeFor[kernels.StepArgs](),
	"adamw":                      reflect.TypeFor[kernels.StepArgs](),
	"keep_running":               reflect.TypeFor[kernels.KeepRunningArgs](),
	"add_part":                   reflect.TypeFor[kernels.AddPartArgs](),
	"tower_":                     reflect.TypeFor[kernels.TowerArgs](),
	"head_fc1_":                  reflect.TypeFor[kernels.HeadFC1Args](),
	"head_fc2":                   reflect.TypeFor[kernels.HeadFC2Args](),
	"head_outputs":               reflect.TypeFor[kernels.HeadOutputsArgs](),
	"policy_gather":              reflect.TypeFor[kernels.PolicyGatherArgs](),
	"men_":                       reflect.TypeFor[kernels.MenArgs](),
	"embed_":                     reflect.TypeFor[kernels.EmbedArgs](),
	"layer_norm_":                reflect.TypeFor[kernels.LayerNormArgs](),
	"layer_norm_backward_":       reflect.TypeFor[kernels.LayerNormBackwardArgs](),
	"gate_backward_":             reflect.TypeFor[kernels.GateBackwardArgs](),
	"said_gradient_":             reflect.TypeFor[kernels.SaidGradientArgs](),
	"attend_backward_":           reflect.TypeFor[kernels.AttendBackwardArgs](),
	"attention_logits_":          reflect.TypeFor[kernels.AttentionLogitsArgs](),
	"attention_logits_backward_": reflect.TypeFor[kernels.AttentionLogitsBackwardArgs](),
	"attend_":                    reflect.TypeFor[kernels.AttendArgs](),
	"attention_policy_":          reflect.TypeFor[kernels.AttentionPolicyArgs](),
}

// Of returns the argument struct of a kernel, or nil.
func Of(kernel string) reflect.Type {
	best := ""
	for start := range All {
		fits := kernel == start || strings.HasSuffix(start, "_") && strings.HasPrefix(kernel, start)
		if fits && len(start) > len(best) {
			best = start
		}
	}
	return All[best]
}
