//go:build slow

package slow

// On tells that -tags slow asked for the long forms.
const On = true
