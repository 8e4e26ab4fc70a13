package kernels

import "github.com/chessbrain/chessbrain/nn/cuda/driver"

// The argument structs of args.cuh, field by field; what they mean stands there.

// ConvArgs mirrors args.cuh.
type ConvArgs struct {
	X       driver.Ptr
	W       driver.Ptr
	Y       driver.Ptr
	Y32     driver.Ptr
	InScale driver.Ptr
	InShift driver.Ptr
	Bias    driver.Ptr
	Add     driver.Ptr
	Z       driver.Ptr
	ZScale  driver.Ptr
	ZShift  driver.Ptr
	Sums    driver.Ptr
	Rows    int32
	Ci      int32
	Co      int32
	InAct   int32
	ZAct    int32
}

// WgradArgs mirrors args.cuh.
type WgradArgs struct {
	X       driver.Ptr
	Dz      driver.Ptr
	Part    driver.Ptr
	InScale driver.Ptr
	InShift driver.Ptr
	Rows    int32
	Ci      int32
	Co      int32
	InAct   int32
	Splits  int32
}

// WgradReduceArgs mirrors args.cuh.
type WgradReduceArgs struct {
	Part         driver.Ptr
	Grad         driver.Ptr
	Splits       int32
	Taps         int32
	Co           int32
	Ci           int32
	RealCo       int32
	RealCi       int32
	Channels     int32
	RealChannels int32
	Accumulate   int32
}

// ColumnSumsArgs mirrors args.cuh.
type ColumnSumsArgs struct {
	X          driver.Ptr
	Sum        driver.Ptr
	Rows       int32
	Columns    int32
	Real       int32
	Accumulate int32
}

// PackEntry mirrors args.cuh.
type PackEntry struct {
	W        driver.Ptr
	Forward  driver.Ptr
	Backward driver.Ptr
	Co       int32
	Ci       int32
	Taps     int32
	Channels int32
}

// PackArgs mirrors args.cuh.
type PackArgs struct {
	Entries driver.Ptr
	Count   int32
}

// GatherArgs mirrors args.cuh.
type GatherArgs struct {
	Kept          driver.Ptr
	Start         driver.Ptr
	Images        driver.Ptr
	WindowMasks   driver.Ptr
	WindowScalars driver.Ptr
	WindowTargets driver.Ptr
	WindowLegal   driver.Ptr
	WindowPolicy  driver.Ptr
	Masks         driver.Ptr
	Scalars       driver.Ptr
	Targets       driver.Ptr
	Legal         driver.Ptr
	Policy        driver.Ptr
	Rows          int32
}

// ExpandArgs mirrors args.cuh.
type ExpandArgs struct {
	Masks   driver.Ptr
	Scalars driver.Ptr
	Planes  driver.Ptr
	Boards  int32
}

// BNForwardArgs mirrors args.cuh.
type BNForwardArgs struct {
	Sums        driver.Ptr
	Gamma       driver.Ptr
	Beta        driver.Ptr
	PendingMean driver.Ptr
	PendingVar  driver.Ptr
	Mean        driver.Ptr
	InvStd      driver.Ptr
	Scale       driver.Ptr
	Shift       driver.Ptr
	Boards      int32
	Channels    int32
	Padded      int32
	Momentum    float32
}

// SEForwardArgs mirrors args.cuh.
type SEForwardArgs struct {
	Sums       driver.Ptr
	Scale      driver.Ptr
	Shift      driver.Ptr
	W1         driver.Ptr
	B1         driver.Ptr
	W2         driver.Ptr
	B2         driver.Ptr
	Pool       driver.Ptr
	Pre        driver.Ptr
	Gate       driver.Ptr
	BoardScale driver.Ptr
	BoardShift driver.Ptr
	Boards     int32
	Channels   int32
	Padded     int32
	Units      int32
	Act        int32
}

// JoinArgs mirrors args.cuh.
type JoinArgs struct {
	Z       driver.Ptr
	Scale   driver.Ptr
	Shift   driver.Ptr
	X       driver.Ptr
	Y       driver.Ptr
	Boards  int32
	Padded  int32
	Act     int32
	ByBoard int32
}

// JoinBackwardArgs mirrors args.cuh.
type JoinBackwardArgs struct {
	Dy      driver.Ptr
	Z       driver.Ptr
	Scale   driver.Ptr
	Shift   driver.Ptr
	X       driver.Ptr
	D       driver.Ptr
	Sums    driver.Ptr
	Boards  int32
	Padded  int32
	Act     int32
	ByBoard int32
}

// SEBackwardArgs mirrors args.cuh.
type SEBackwardArgs struct {
	Sums     driver.Ptr
	Zsums    driver.Ptr
	Scale    driver.Ptr
	Shift    driver.Ptr
	Gate     driver.Ptr
	Pre      driver.Ptr
	W1       driver.Ptr
	W2       driver.Ptr
	Df       driver.Ptr
	Dhid     driver.Ptr
	DynScale driver.Ptr
	DynShift driver.Ptr
	DynSums  driver.Ptr
	Boards   int32
	Channels int32
	Padded   int32
	Units    int32
	Act      int32
}

// OuterLayer mirrors args.cuh.
type OuterLayer struct {
	Dout       driver.Ptr
	In         driver.Ptr
	Dw         driver.Ptr
	Dbias      driver.Ptr
	Rows       int32
	Columns    int32
	DoutStride int32
	InStride   int32
	Act        int32
}

// OuterArgs mirrors args.cuh.
type OuterArgs struct {
	Layers     driver.Ptr
	Boards     int32
	Accumulate int32
}

// BNBackwardArgs mirrors args.cuh.
type BNBackwardArgs struct {
	Sums       driver.Ptr
	Gamma      driver.Ptr
	Mean       driver.Ptr
	InvStd     driver.Ptr
	Dgamma     driver.Ptr
	Dbeta      driver.Ptr
	K          driver.Ptr
	Boards     int32
	Channels   int32
	Padded     int32
	Accumulate int32
}

// BNInputArgs mirrors args.cuh.
type BNInputArgs struct {
	D        driver.Ptr
	Z        driver.Ptr
	K        driver.Ptr
	DynScale driver.Ptr
	DynShift driver.Ptr
	Dz       driver.Ptr
	Boards   int32
	Padded   int32
}

// PolicyLossArgs mirrors args.cuh.
type PolicyLossArgs struct {
	Logits  driver.Ptr
	Place   driver.Ptr
	Start   driver.Ptr
	Legal   driver.Ptr
	Target  driver.Ptr
	Weight  driver.Ptr
	Dlogits driver.Ptr
	Loss    driver.Ptr
	Entropy driver.Ptr
	Rows    int32
	Width   int32
	Scale   float32
}

// ScalarTerm mirrors args.cuh.
type ScalarTerm struct {
	Target int32
	Other  int32
	Ratio  float32
	Scale  float32
}

// ScalarLossArgs mirrors args.cuh.
type ScalarLossArgs struct {
	Logits  driver.Ptr
	Targets driver.Ptr
	Weight  driver.Ptr
	Dlogits driver.Ptr
	Loss    driver.Ptr
	Term    [8]ScalarTerm
	Rows    int32
	Width   int32
	Terms   int32
	Head    int32
}

// PrepareGradientArgs mirrors args.cuh.
type PrepareGradientArgs struct {
	G     driver.Ptr
	W     driver.Ptr
	Decay driver.Ptr
	Part  driver.Ptr
	N     int32
	Scale float32
	L2    float32
}

// StepState mirrors args.cuh.
type StepState struct {
	GradNorm    float64
	HalfSquares float64
	Clip        float32
	Finite      int32
}

// FinishNormArgs mirrors args.cuh.
type FinishNormArgs struct {
	Part            driver.Ptr
	Pending         driver.Ptr
	State           driver.Ptr
	Parts           int32
	Running         int32
	ClipNorm        float32
	ObjectiveFinite int32
}

// StepArgs mirrors args.cuh.
type StepArgs struct {
	W           driver.Ptr
	G           driver.Ptr
	M           driver.Ptr
	V           driver.Ptr
	Swa         driver.Ptr
	Decay       driver.Ptr
	State       driver.Ptr
	N           int32
	Lr          float32
	Momentum    float32
	Beta1       float32
	Beta2       float32
	Epsilon     float32
	WeightDecay float32
	Correction1 float32
	Correction2 float32
	SwaKeep     float32
	SwaAdd      float32
}

// KeepRunningArgs mirrors args.cuh.
type KeepRunningArgs struct {
	Pending driver.Ptr
	Running driver.Ptr
	Swa     driver.Ptr
	State   driver.Ptr
	N       int32
	SwaKeep float32
	SwaAdd  float32
}
