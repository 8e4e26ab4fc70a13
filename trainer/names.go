package trainer

// Names of nn.Arch's choices and of the parameters that depend on them.
const (
	activationMish = "mish"
	valueScalar    = "scalar"

	policyConv   = "policy.conv1" // first convolution
	policyBN     = "policy.bn"
	policyPlanes = "policy.conv2" // convolutional head: F -> 80 planes
	policyDense  = "policy.fc"    // classical head: to all policy indices
)
