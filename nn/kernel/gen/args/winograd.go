package args

// The interpolation points of Winograd's F(4,3) are 0, +-a, +-b and infinity. With 3/4 and
// 3/2 rounding errors are about 0.6 of those of the usual 1 and 2, which matters in
// bf16: relative errors of policy logits of 0.9 % against 1.6 % (direct: 0.3 %).
const (
	pointA = 0.75
	pointB = 1.5
)

// Factor is a constant of the transforms.
type Factor struct {
	Name  string
	Value float64
}

// Factors are the constants of the transforms. The last three scale weights:
// reciprocals of the products of differences between an interpolation point and
// the others.
var Factors = []Factor{
	{"A", pointA}, {"B", pointB}, {"A2", pointA * pointA}, {"B2", pointB * pointB},
	{"A3", pointA * pointA * pointA}, {"B3", pointB * pointB * pointB},
	{"Sum", pointA*pointA + pointB*pointB}, {"Product", pointA * pointA * pointB * pointB},
	{"N0", 1 / (pointA * pointA * pointB * pointB)},
	{"NA", 1 / (2 * pointA * pointA * (pointA*pointA - pointB*pointB))},
	{"NB", 1 / (2 * pointB * pointB * (pointB*pointB - pointA*pointA))},
}
