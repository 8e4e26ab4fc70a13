package trainer

// Parameters of the policy head, whose second half depends on nn.Arch.
const (
	policyConv   = "policy.conv1" // first convolution
	policyBN     = "policy.bn"
	policyPlanes = "policy.conv2" // convolutional head: F -> 80 planes
	policyDense  = "policy.fc"    // classical head: to all policy indices
)
