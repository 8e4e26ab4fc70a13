// Package train trains a net on the CPU: it is the device.Trainer that every machine
// has.
//
// A net is a row of layers over an engine, which holds parameters, buffers and a worker
// pool. Their forward and backward passes run the functions of nn/kernel over fixed
// slices of boards, in phases between the barriers that batch norm needs: it uses the
// statistics of the micro-batch, or the running ones where a pass says so. Sums run in
// slice order, so the weights are bit-equal for every number of workers. Gorgonia
// differentiates the row of layers; all of it is in graph.go.
//
// With device.BF16 the 3x3 convolutions multiply bf16 factors, forward and backward,
// where the CPU can, and their outputs wait for the backward pass in bf16. So do the layers
// of attention nets, and the attention weights that are kept. Weights, sums, statistics and
// all else stay fp32, whose range needs no loss scaling.
package train
