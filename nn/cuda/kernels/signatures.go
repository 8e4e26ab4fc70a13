package kernels

import (
	"reflect"
	"strings"
)

// signatures lists the argument structs by the kernels' names, or by what those
// that end in "_" begin with; the longest that fits counts.
var signatures = map[string]reflect.Type{
	"conv_":            reflect.TypeFor[ConvArgs](),
	"wgrad_":           reflect.TypeFor[WgradArgs](),
	"wgrad_reduce":     reflect.TypeFor[WgradReduceArgs](),
	"column_sums_":     reflect.TypeFor[ColumnSumsArgs](),
	"pack_":            reflect.TypeFor[PackArgs](),
	"gather":           reflect.TypeFor[GatherArgs](),
	"expand_":          reflect.TypeFor[ExpandArgs](),
	"bn_forward":       reflect.TypeFor[BNForwardArgs](),
	"bn_backward":      reflect.TypeFor[BNBackwardArgs](),
	"bn_input_":        reflect.TypeFor[BNInputArgs](),
	"se_forward_":      reflect.TypeFor[SEForwardArgs](),
	"se_backward_":     reflect.TypeFor[SEBackwardArgs](),
	"outer_":           reflect.TypeFor[OuterArgs](),
	"join_":            reflect.TypeFor[JoinArgs](),
	"join_backward_":   reflect.TypeFor[JoinBackwardArgs](),
	"policy_loss_":     reflect.TypeFor[PolicyLossArgs](),
	"scalar_loss_":     reflect.TypeFor[ScalarLossArgs](),
	"prepare_gradient": reflect.TypeFor[PrepareGradientArgs](),
	"finish_norm":      reflect.TypeFor[FinishNormArgs](),
	"sgd":              reflect.TypeFor[StepArgs](),
	"adamw":            reflect.TypeFor[StepArgs](),
	"keep_running":     reflect.TypeFor[KeepRunningArgs](),
	"tower_":           reflect.TypeFor[TowerArgs](),
	"head_fc1_":        reflect.TypeFor[HeadFC1Args](),
	"head_fc2":         reflect.TypeFor[HeadFC2Args](),
	"head_outputs":     reflect.TypeFor[HeadOutputsArgs](),
	"policy_gather":    reflect.TypeFor[PolicyGatherArgs](),
}

// ArgumentsOf returns the argument struct of a kernel, or nil: a device that checks
// launches learns from it where pointers lie (internal/testing/checked).
func ArgumentsOf(kernel string) reflect.Type {
	best := ""
	for start := range signatures {
		fits := kernel == start || strings.HasSuffix(start, "_") && strings.HasPrefix(kernel, start)
		if fits && len(start) > len(best) {
			best = start
		}
	}
	return signatures[best]
}
