// Package args describes the argument structs of the assembly kernels, which are
// common to all architectures, and writes them and the lists of entries as Go.
// The generators import it: nn/kernel/gen for amd64, nn/kernel/genarm64 for arm64.
package args

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"maps"
	"os"
	"slices"
	"strings"
)

// Field is one or more 8-byte fields of an argument struct, "a, b".
type Field struct{ Names, Type, Doc string }

// Structs are the argument structs by name: every field is 8 bytes. Strides and lengths are bytes unless the doc says otherwise.
var Structs = map[string][]Field{
	"gemmArgs": {
		{"y", "*float32", "first output row of the tile"},
		{"x", "*float32", "first input row of the tile"},
		{"w", "*float32", "first packed panel"},
		{"bias", "*float32", "16 floats a panel, or nil"},
		{"xRow, yRow", "uintptr", "strides of input and output rows"},
		{"xTile, yTile", "uintptr", "strides of x and y between tiles"},
		{"tiles", "uintptr", "number of tiles, > 0"},
		{"segs", "uintptr", "segments of the sum, > 0"},
		{"kseg", "uintptr", "length of a segment in floats, > 0"},
		{"xSeg", "uintptr", "stride of x between segments"},
		{"wPanel", "uintptr", "stride of w between panels"},
		{"floor", "uint64", "float32 bits: results are at least this"},
	},
	"gradArgs": {
		{"dst", "*float32", "first row of the sums, added to"},
		{"a, b", "*float32", "the factors that give rows and columns of dst"},
		{"dstRow", "uintptr", "stride of dst rows"},
		{"aStep, bStep", "uintptr", "strides of a and b along the sum"},
		{"inner", "uintptr", "length of the inner sum, > 0"},
		{"outer", "uintptr", "number of inner sums, > 0"},
		{"aOuter, bOuter", "uintptr", "added to a and b after an inner sum"},
		{"blocks", "uintptr", "number of row blocks, > 0"},
	},
	"affineArgs": {
		{"y", "*float32", "output rows"},
		{"x", "*float32", "input rows"},
		{"res", "*float32", "rows to add"},
		{"u", "*float32", "second input rows"},
		{"scale, shift, uscale", "*float32", "per channel; uscale for u"},
		{"rows", "uintptr", "number of rows, > 0"},
		{"width", "uintptr", "bytes of a row that are worked on, a multiple of 64"},
		{"skip", "uintptr", "bytes of a row that are not"},
		{"floor", "uint64", "float32 bits: results are at least this"},
	},
	"sumArgs": {
		{"u", "*float32", "rows to sum"},
		{"v", "*float32", "rows to multiply with"},
		{"mask", "*float32", "rows whose sign gates u"},
		{"store", "*float32", "takes the gated u; set with mask"},
		{"mean", "*float32", "per channel, subtracted from v"},
		{"s1, s2", "*float32", "sums of u and of u*(v-mean)"},
		{"rows", "uintptr", "number of rows, > 0"},
		{"stride", "uintptr", "stride of rows"},
	},
	"flatArgs": {
		{"y", "*float32", "output"},
		{"a, b", "*float32", "inputs"},
		{"n", "uintptr", "panels of 16 floats, > 0"},
		{"alpha", "uint64", "float32 bits"},
	},
	"normArgs": {
		{"y", "*float32", "output rows"},
		{"x, skip", "*float32", "input rows"},
		{"u", "*float32", "rows of the result's gradient"},
		{"gamma, beta", "*float32", "per channel"},
		{"dgamma, dbeta", "*float32", "per channel, added to"},
		{"rows", "uintptr", "number of rows, > 0"},
		{"panels", "uintptr", "panels of 16 floats of a row, > 0"},
		{"alpha, eps", "uint64", "float32 bits"},
		{"inverse", "uint64", "float32 bits of 1/channels"},
		{"one", "uint64", "float32 bits of 1"},
	},
	"squaresArgs": {
		{"x", "*float32", "the numbers"},
		{"sums", "*float64", "32 sums, added to; sum i takes elements i, i+32, ..."},
		{"n", "uintptr", "blocks of 32 floats, > 0"},
	},
	"expandArgs": {
		{"y", "*float32", "output, [64][112]"},
		{"masks", "*uint64", "bit masks of planes 0 to 103"},
		{"constants", "*uint64", "masks of planes 104 to 111, all bits or none"},
		{"values", "*float32", "what set bits of planes 96 to 111 become"},
		{"one", "uint64", "float32 bits of 1"},
		{"firstBit", "uint64", "1"},
	},
	"policyArgs": {
		{"y", "*float32", "outputs, added to"},
		{"x", "*float32", "words of the input with a border of zeros, [10][10][panels][16]"},
		{"w", "*float32", "words of the weights, [plane][panels][9][16]"},
		{"jobs", "*uint64", "an output each: where its first tap lies in x, and from bit 32 on where its weights lie in w, in bytes"},
		{"row, square, panel", "uintptr", "strides of ranks, squares and panels of x"},
		{"panels", "uintptr", "panels of 16 words of input channels, > 0"},
		{"n", "uintptr", "number of outputs, > 0"},
	},
	"optArgs": {
		{"w", "*float32", "weights"},
		{"g", "*float32", "gradient"},
		{"m, v", "*float32", "first and second moment"},
		{"n", "uintptr", "panels of 16 floats, > 0"},
		{"lr, momentum", "uint64", "float32 bits"},
		{"decay", "uint64", "float32 bits (AdamW: lr*decay)"},
		{"b1, c1, b2, c2", "uint64", "float32 bits; c1 = 1-b1, c2 = 1-b2"},
		{"eps, bc1, bc2", "uint64", "float32 bits"},
		{"cm, cg", "uint64", "float32 bits, NAdamW's shares of moment and gradient"},
	},
	"transposeArgs": {
		{"src, dst", "*float32", "first rows of the first block and of its transpose"},
		{"srcRow, dstRow", "uintptr", "strides of rows"},
		{"srcStep, dstStep", "uintptr", "strides of blocks"},
		{"n", "uintptr", "number of blocks, > 0"},
	},
	"winogradArgs": {
		{"src, dst", "*float32", "first input and output"},
		{"temp", "*float32", "96 vectors of scratch"},
		// Rows are squares, a plane's rows, or weights along input channels.
		{"srcRow, srcPlane", "uintptr", "strides of rows, and of planes or taps, of src"},
		{"dstRow, dstPlane", "uintptr", "the same of dst"},
		{"bias", "*float32", "per channel, or nil"},
		{"sum, squares", "*float32", "take the sums over the board of outputs and of their squares, per channel"},
		{"floor", "uint64", "float32 bits: results are at least this"},
		{"n", "uintptr", "slices of a vector of channels, > 0"},
		{"boards", "uintptr", "boards to transform, > 0; weights and their gradients have none"},
		{"srcBoard, dstBoard", "uintptr", "strides of src and dst between boards"},
		{"sumBoard", "uintptr", "stride of sum and of squares between boards"},
	},
	"pointArgs": {
		{"y", "*float32", "first row of the first product"},
		{"x", "*float32", "first row of words of the first left factor"},
		{"w", "*float32", "first packed panel of words"},
		{"xRow, yRow", "uintptr", "strides of input and output rows"},
		{"xPoint, yPoint, wPoint", "uintptr", "strides between points"},
		{"wPanel", "uintptr", "stride of w between panels"},
		{"k", "uintptr", "length of the sum in words, a multiple of 8, > 0"},
		{"rows", "uintptr", "rows of a product, a multiple of 4, > 0"},
		{"points", "uintptr", "number of products, > 0"},
		{"ahead", "*float32", "memory that will be written next: every tile fetches 4 rows of it"},
		{"aheadRow", "uintptr", "stride of those rows, of which a panel pair's width is fetched"},
	},
	"tileArgs": {
		{"y", "*float32", "first row of the first product"},
		{"x", "*float32", "first row of words of the first left factor"},
		{"w", "*float32", "first row of words of the first panel"},
		{"config", "*byte", "64 bytes for LDTILECFG"},
		{"xRow, yRow", "uintptr", "strides of input and output rows"},
		{"xTile, yTile", "uintptr", "strides between the row tiles of a block"},
		{"xBlock, yBlock", "uintptr", "strides between blocks of rows"},
		{"xPoint, yPoint, wPoint", "uintptr", "strides between points"},
		{"wPanel", "uintptr", "stride of w between panels"},
		{"wRow", "uintptr", "stride of w between words of a sum"},
		{"xStep, wStep", "uintptr", "strides between steps of the sum"},
		{"steps", "uintptr", "steps of the sum, > 0"},
		{"blocks", "uintptr", "blocks of rows of a product, > 0"},
		{"points", "uintptr", "number of products, > 0"},
	},
	"convArgs": {
		{"x", "*float32", "words of the first pair of boards, [blocks][10][10][2][16]"},
		{"w", "*float32", "words of the weights, [panels][blocks][3 files][3 ranks][16][16]"},
		{"bias", "*float32", "16 floats a panel, or nil"},
		{"y", "*float32", "first square of the first board"},
		{"sum, squares", "*float32", "take the sums over a board of outputs and of their squares, per channel; or nil"},
		{"config", "*byte", "64 bytes for LDTILECFG"},
		{"scratch", "*float32", "2048 floats"},
		{"blocks", "uintptr", "blocks of 32 input channels, > 0"},
		{"panels", "uintptr", "panels of 16 output channels, > 0"},
		{"pairs", "uintptr", "pairs of boards, or boards, > 0"},
		{"xPair", "uintptr", "stride of x between pairs"},
		{"yPair", "uintptr", "stride of y between pairs"},
		{"yBoard, yRow", "uintptr", "strides of y between boards of a pair and between squares"},
		{"yRank", "uintptr", "added after each rank of y"},
		{"yEven, yOdd", "uintptr", "strides of y to the next panel, from even and from odd ones"},
		{"sumBoard", "uintptr", "stride of sum and of squares between boards"},
		{"floor", "uint64", "float32 bits: results are at least this"},
	},
	"padArgs": {
		{"x", "*float32", "rows of the first board, [64][channels]"},
		{"y", "*float32", "words of the pair, [blocks][10][10][2][16]"},
		{"xBoard, xRow", "uintptr", "strides of x between boards and between squares"},
		{"blocks", "uintptr", "whole blocks of 32 channels"},
		{"half", "uintptr", "1 where 16 more channels follow"},
	},
	"joinArgs": {
		{"z", "*float32", "words of the pair, [blocks][10][10][2][16]"},
		{"x", "*float32", "rows of the first board, [64][channels]"},
		{"gate, beta", "*float32", "per channel of the first board"},
		{"xBoard, xRow", "uintptr", "strides of x between boards and between squares"},
		{"gateBoard", "uintptr", "stride of gate and beta between boards"},
		{"blocks", "uintptr", "whole blocks of 32 channels"},
		{"half", "uintptr", "1 where 16 more channels follow"},
		{"floor", "uint64", "float32 bits: results are at least this"},
	},
	"wordArgs": {
		{"x", "*float32", "first row of floats: low halves"},
		{"y", "*float32", "words of the first row"},
		{"xPair, xOdd", "uintptr", "strides of x between low halves, and from a low one to its high one"},
		{"xSquare, ySquare", "uintptr", "strides between squares"},
		{"yPanel", "uintptr", "stride of y between panels; rows follow each other"},
		{"pairs", "uintptr", "rows of words of a square, > 0"},
		{"panels", "uintptr", "panels of 16 channels, > 0"},
		{"squares", "uintptr", "squares, > 0"},
	},
	"tapArgs": {
		{"y", "*float32", "first row of the gradient of the first tap"},
		{"a", "*float32", "words of a panel of y's rows, [steps][64][16 rows][16]"},
		{"b", "*float32", "words of panels of y's columns, [steps][panels][64][16][16 columns]"},
		{"config", "*byte", "64 bytes for LDTILECFG"},
		{"scratch", "*float32", "2304 floats"},
		{"yRow, yTap", "uintptr", "strides of y between rows and between taps"},
		{"bStep", "uintptr", "stride of b between steps"},
		{"steps", "uintptr", "steps of 32 boards, > 0"},
		{"panels", "uintptr", "panels of columns, > 0"},
	},
	"pointGradArgs": {
		{"dst", "*float32", "first row of the first sum"},
		{"a, b", "*float32", "words of the factors that give rows and columns of dst"},
		{"dstRow", "uintptr", "stride of dst rows"},
		{"aStep, bStep", "uintptr", "strides of a and b along the sum"},
		{"dstPoint, aPoint, bPoint", "uintptr", "strides between points"},
		{"length", "uintptr", "length of the sum, > 0"},
		{"blocks", "uintptr", "number of row blocks, > 0"},
		{"points", "uintptr", "number of sums, > 0"},
	},
	"rowsArgs": {
		{"x", "*float32", "a vector as wide as the rows"},
		{"table", "*float32", "row 0"},
		{"rows", "*uint16", "the list"},
		{"weights", "*float32", "by row of the list"},
		{"step", "uintptr", "stride of weights: 0 or 4"},
		{"stride", "uintptr", "stride of rows"},
		{"n", "uintptr", "rows of the list, > 0"},
		{"blocks", "uintptr", "blocks of 64 floats of a row, > 0"},
		{"lists", "uintptr", "of products: lists that each weight has a row of, > 0"},
		{"apart", "uintptr", "of products: stride of lists"},
	},
	"peakArgs": {
		{"n", "uintptr", "rounds, > 0"},
	},
}

// Offset returns the byte offset of a field. It panics where there is none: a
// generator's bug.
func Offset(name, field string) int {
	at := 0
	for _, f := range Structs[name] {
		for n := range strings.SplitSeq(f.Names, ", ") {
			if n == field {
				return at
			}
			at += 8
		}
	}
	panic("no field " + field + " in " + name)
}

// generated is the first line of the files.
const generated = "// Code generated by gen. DO NOT EDIT.\n\n"

// WriteStructs writes the argument structs as Go.
func WriteStructs(path string) error {
	var b bytes.Buffer
	b.WriteString(generated + "package kernel\n")
	for _, n := range slices.Sorted(maps.Keys(Structs)) {
		fmt.Fprintf(&b, "\n// %s are the arguments of assembly kernels; strides are in bytes.\ntype %s struct {\n", n, n)
		for _, f := range Structs[n] {
			fmt.Fprintf(&b, "%s %s // %s\n", f.Names, f.Type, f.Doc)
		}
		b.WriteString("}\n")
	}
	return WriteGo(path, b.Bytes())
}

// Main is the main of a generator: run writes its files to a folder.
func Main(name string, run func(dir string) error) {
	dir := flag.String("dir", ".", "folder that takes the generated files")
	flag.Parse()
	if err := run(*dir); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// Several returns n free registers, or rows of them.
func Several[R any](n int, free func() R) []R {
	r := make([]R, n)
	for i := range r {
		r[i] = free()
	}
	return r
}

// Entry is one assembly function over an argument struct.
type Entry struct{ Name, Args string }

// WriteEntries writes the list of an architecture's entries, which tests walk.
func WriteEntries(path, arch string, entries []Entry) error {
	var b bytes.Buffer
	b.WriteString(generated + "//go:build " + arch + "\n\npackage kernel\n")
	b.WriteString("\n// entries lists every assembly function over an argument struct.\n")
	b.WriteString("var entries = []struct{ name, args string; call func(*byte) }{\n")
	for _, e := range entries {
		fmt.Fprintf(&b, "{%q, %q, %s},\n", e.Name, e.Args, e.Name)
	}
	b.WriteString("}\n")
	return WriteGo(path, b.Bytes())
}

// WriteGo formats and writes a Go file.
func WriteGo(path string, text []byte) error {
	src, err := format.Source(text)
	if err != nil {
		return fmt.Errorf("format %s: %w", path, err)
	}
	return os.WriteFile(path, src, 0o644)
}
