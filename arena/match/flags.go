package match

// Value is the value of a flag, as the flag packages want it.
type Value interface {
	String() string
	Set(text string) error
	Type() string
}

// Flag is a flag that a command should have.
type Flag struct {
	Value  Value
	Name   string
	Usage  string
	Alone  string // what the flag without a value means; "" = it needs one
	Hidden bool   // from the help: the forms with a prefix
}

// Bind adds a flag to a command.
type Bind func(Flag)
