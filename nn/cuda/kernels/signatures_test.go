package kernels_test

import (
	"github.com/chessbrain/chessbrain/internal/testing/signatures"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
)

func init() { kernels.SetSignatures(signatures.All, signatures.Of) }
