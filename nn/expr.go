package nn

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// netSum is the value of an expression over nets: the sum of nets times their
// factors; without nets a plain number.
type netSum struct {
	number float64            // without nets
	nets   map[string]float64 // factor of each; nil without
}

// maxExprDepth bounds how deep parentheses and signs may stand in each other.
const maxExprDepth = 100

// ParseExpr reads an expression such as "(A + B*3)/4" and returns the factor of each
// net. It takes numbers, names of nets (letters, digits, _), + - * / and parentheses.
// Nets may be added to nets, and multiplied and divided by numbers. All else, a factor
// that is not finite, and a result without nets are errors that say the column.
func ParseExpr(text string) (map[string]float64, error) {
	p := &exprParser{text: text}
	v, err := p.sum(0)
	if err == nil && p.peek() != 0 {
		err = p.errorf("unexpected %q", p.text[p.at])
	}
	if err == nil && v.nets == nil {
		err = errors.New("the expression names no net")
	}
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", text, err)
	}
	return v.nets, nil
}

// wordPattern matches a name, or what stands for a decimal number.
var wordPattern = regexp.MustCompile(`^(?:([A-Za-z_]\w*)|([0-9.]+(?:[eE][+-]?[0-9.]*)?))`)

// exprParser is a parser by recursive descent.
type exprParser struct {
	text string
	at   int
}

func (p *exprParser) errorf(format string, args ...any) error {
	return fmt.Errorf("column %d: %s", p.at+1, fmt.Sprintf(format, args...))
}

// peek skips spaces and returns the next character, 0 at the end.
func (p *exprParser) peek() byte {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t') {
		p.at++
	}
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

// chain is operand {op operand} for any of the operators ops; apply computes one, where
// errors say the operator's column.
func (p *exprParser) chain(ops string, depth int, operand func(int) (netSum, error), apply func(op byte, x, y netSum) (netSum, error)) (netSum, error) {
	x, err := operand(depth)
	for err == nil && strings.IndexByte(ops, p.peek()) >= 0 {
		at := p.at
		p.at++
		var y netSum
		if y, err = operand(depth); err != nil {
			break
		}
		end := p.at
		p.at = at
		if x, err = apply(p.text[at], x, y); err == nil {
			err = p.finite(x)
		}
		if err == nil {
			p.at = end
		}
	}
	return x, err
}

// sum is product {("+" | "-") product}.
func (p *exprParser) sum(depth int) (netSum, error) {
	return p.chain("+-", depth, p.product, func(op byte, x, y netSum) (netSum, error) {
		if (x.nets == nil) != (y.nets == nil) {
			return x, p.errorf("a net and a number cannot be added or subtracted")
		}
		if op == '-' {
			y = y.scale(-1)
		}
		return x.plus(y), nil
	})
}

// product is factor {("*" | "/") factor}.
func (p *exprParser) product(depth int) (netSum, error) {
	return p.chain("*/", depth, p.factor, func(op byte, x, y netSum) (netSum, error) {
		switch {
		case y.nets != nil && op == '/':
			return x, p.errorf("nothing can be divided by a net")
		case x.nets != nil && y.nets != nil:
			return x, p.errorf("nets cannot be multiplied by nets")
		case op == '/':
			return x.scale(1 / y.number), nil
		case y.nets != nil:
			return y.scale(x.number), nil
		}
		return x.scale(y.number), nil
	})
}

// factor is a number, a name, a factor with a sign, or a sum in parentheses.
func (p *exprParser) factor(depth int) (netSum, error) {
	if depth > maxExprDepth {
		return netSum{}, p.errorf("more than %d parentheses and signs in each other", maxExprDepth)
	}
	ch := p.peek()
	start := p.at
	switch {
	case ch == '-' || ch == '+':
		p.at++
		x, err := p.factor(depth + 1)
		if ch == '-' {
			x = x.scale(-1)
		}
		return x, err
	case ch == '(':
		p.at++
		x, err := p.sum(depth + 1)
		if err == nil && p.peek() != ')' {
			err = p.errorf("want a ) for the ( in column %d", start+1)
		}
		p.at++
		return x, err
	case ch == 0:
		return netSum{}, p.errorf("the expression ends where a net or a number is wanted")
	}
	m := wordPattern.FindStringSubmatch(p.text[start:])
	if m == nil {
		return netSum{}, p.errorf("unexpected %q, want a net, a number or a parenthesis", ch)
	}
	if m[1] != "" {
		p.at += len(m[1])
		return netSum{nets: map[string]float64{m[1]: 1}}, nil
	}
	v, err := strconv.ParseFloat(m[2], 64)
	if err != nil {
		return netSum{}, p.errorf("%q is not a number", m[2])
	}
	p.at += len(m[2])
	return netSum{number: v}, nil
}

// finite refuses a value with a number that is not finite.
func (p *exprParser) finite(x netSum) error {
	bad := math.IsInf(x.number, 0) || math.IsNaN(x.number)
	for _, f := range x.nets {
		bad = bad || math.IsInf(f, 0) || math.IsNaN(f)
	}
	if bad {
		return p.errorf("the result is not finite")
	}
	return nil
}

func (x netSum) scale(f float64) netSum {
	y := netSum{number: x.number * f, nets: maps.Clone(x.nets)}
	for name := range y.nets {
		y.nets[name] *= f
	}
	return y
}

func (x netSum) plus(y netSum) netSum {
	z := netSum{number: x.number + y.number, nets: maps.Clone(x.nets)}
	for name, f := range y.nets {
		z.nets[name] += f
	}
	return z
}

// ErrMix is wrapped by Mix where the nets have several architectures.
var ErrMix = errors.New("they must have one architecture")

// Mix returns the sum of nets times their factors, as ParseExpr gives them, summed in
// float64 in the order of the names. A sum that is no net is ErrNotFinite or ErrParams.
func Mix(nets map[string]*Net, factors map[string]float64) (*Net, error) {
	names := slices.Sorted(maps.Keys(nets))
	first := nets[names[0]]
	for _, name := range names[1:] {
		if !nets[name].Arch.Equal(first.Arch) {
			return nil, fmt.Errorf("%s is a net %+v, %s is %+v: %w", names[0], first.Arch, name, nets[name].Arch, ErrMix)
		}
	}
	out := first.Clone()
	for i := range out.Params {
		for j := range out.Params[i].Data {
			sum := 0.0
			for _, name := range names {
				sum += factors[name] * float64(nets[name].Params[i].Data[j])
			}
			out.Params[i].Data[j] = float32(sum)
		}
	}
	if err := out.CheckFinite(); err != nil {
		return nil, fmt.Errorf("the result is no net: %w; choose other factors", err)
	}
	return out, nil
}
