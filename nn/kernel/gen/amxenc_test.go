package main

import (
	"bytes"
	"testing"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func address(base, index reg.Register, disp int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: 1, Disp: disp}
}

// The wanted bytes are GNU as 2.40's.
func TestAMXEncodings(t *testing.T) {
	for _, c := range []struct {
		name string
		got  []byte
		want []byte
	}{
		{"ldtilecfg (%rax)", opConfig.memory(0, operand.Mem{Base: reg.RAX}), []byte{0xc4, 0xe2, 0x78, 0x49, 0x00}},
		{"ldtilecfg (%r11)", opConfig.memory(0, operand.Mem{Base: reg.R11}), []byte{0xc4, 0xc2, 0x78, 0x49, 0x03}},
		{"ldtilecfg (%rsp)", opConfig.memory(0, operand.Mem{Base: reg.RSP}), []byte{0xc4, 0xe2, 0x78, 0x49, 0x04, 0x24}},
		{"ldtilecfg 0x40(%rsp)", opConfig.memory(0, operand.Mem{Base: reg.RSP, Disp: 0x40}), []byte{0xc4, 0xe2, 0x78, 0x49, 0x44, 0x24, 0x40}},
		{"ldtilecfg (%rbp)", opConfig.memory(0, operand.Mem{Base: reg.RBP}), []byte{0xc4, 0xe2, 0x78, 0x49, 0x45, 0x00}},
		{"ldtilecfg (%r13)", opConfig.memory(0, operand.Mem{Base: reg.R13}), []byte{0xc4, 0xc2, 0x78, 0x49, 0x45, 0x00}},
		{"ldtilecfg 0x1000(%r12)", opConfig.memory(0, operand.Mem{Base: reg.R12, Disp: 0x1000}), []byte{0xc4, 0xc2, 0x78, 0x49, 0x84, 0x24, 0x00, 0x10, 0x00, 0x00}},
		{"tilerelease", opConfig.registers(0, 0, 0), []byte{0xc4, 0xe2, 0x78, 0x49, 0xc0}},
		{"tilezero %tmm0", opZero.registers(0, 0, 0), []byte{0xc4, 0xe2, 0x7b, 0x49, 0xc0}},
		{"tilezero %tmm3", opZero.registers(3, 0, 0), []byte{0xc4, 0xe2, 0x7b, 0x49, 0xd8}},
		{"tilezero %tmm7", opZero.registers(7, 0, 0), []byte{0xc4, 0xe2, 0x7b, 0x49, 0xf8}},
		{"tileloadd (%rdi,%r9,1), %tmm6", opLoad.memory(6, address(reg.RDI, reg.R9, 0)), []byte{0xc4, 0xa2, 0x7b, 0x4b, 0x34, 0x0f}},
		{"tileloadd (%rsi,%rax,1), %tmm4", opLoad.memory(4, address(reg.RSI, reg.RAX, 0)), []byte{0xc4, 0xe2, 0x7b, 0x4b, 0x24, 0x06}},
		{"tileloadd 0x400(%rdi,%r9,1), %tmm7", opLoad.memory(7, address(reg.RDI, reg.R9, 0x400)), []byte{0xc4, 0xa2, 0x7b, 0x4b, 0xbc, 0x0f, 0x00, 0x04, 0x00, 0x00}},
		{"tileloadd 0x40(%r13,%r14,1), %tmm5", opLoad.memory(5, address(reg.R13, reg.R14, 0x40)), []byte{0xc4, 0x82, 0x7b, 0x4b, 0x6c, 0x35, 0x40}},
		{"tileloadd (%r13,%rcx,1), %tmm5", opLoad.memory(5, address(reg.R13, reg.RCX, 0)), []byte{0xc4, 0xc2, 0x7b, 0x4b, 0x6c, 0x0d, 0x00}},
		{"tileloadd (%rbp,%rcx,1), %tmm1", opLoad.memory(1, address(reg.RBP, reg.RCX, 0)), []byte{0xc4, 0xe2, 0x7b, 0x4b, 0x4c, 0x0d, 0x00}},
		{"tileloadd (%r12,%r10,1), %tmm0", opLoad.memory(0, address(reg.R12, reg.R10, 0)), []byte{0xc4, 0x82, 0x7b, 0x4b, 0x04, 0x14}},
		{"tileloadd -0x80(%rdx,%rbx,1), %tmm2", opLoad.memory(2, address(reg.RDX, reg.RBX, -0x80)), []byte{0xc4, 0xe2, 0x7b, 0x4b, 0x54, 0x1a, 0x80}},
		{"tileloadd -0x81(%rdx,%rbx,1), %tmm2", opLoad.memory(2, address(reg.RDX, reg.RBX, -0x81)), []byte{0xc4, 0xe2, 0x7b, 0x4b, 0x94, 0x1a, 0x7f, 0xff, 0xff, 0xff}},
		{"tilestored %tmm0, (%rdx,%r8,1)", opStore.memory(0, address(reg.RDX, reg.R8, 0)), []byte{0xc4, 0xa2, 0x7a, 0x4b, 0x04, 0x02}},
		{"tilestored %tmm1, 0x40(%rdx,%r8,1)", opStore.memory(1, address(reg.RDX, reg.R8, 0x40)), []byte{0xc4, 0xa2, 0x7a, 0x4b, 0x4c, 0x02, 0x40}},
		{"tilestored %tmm3, (%r15,%rdi,1)", opStore.memory(3, address(reg.R15, reg.RDI, 0)), []byte{0xc4, 0xc2, 0x7a, 0x4b, 0x1c, 0x3f}},
		{"tdpbf16ps %tmm6, %tmm4, %tmm0", opDotBF16.registers(0, 4, 6), []byte{0xc4, 0xe2, 0x4a, 0x5c, 0xc4}},
		{"tdpbf16ps %tmm7, %tmm4, %tmm1", opDotBF16.registers(1, 4, 7), []byte{0xc4, 0xe2, 0x42, 0x5c, 0xcc}},
		{"tdpbf16ps %tmm6, %tmm5, %tmm2", opDotBF16.registers(2, 5, 6), []byte{0xc4, 0xe2, 0x4a, 0x5c, 0xd5}},
		{"tdpbf16ps %tmm7, %tmm5, %tmm3", opDotBF16.registers(3, 5, 7), []byte{0xc4, 0xe2, 0x42, 0x5c, 0xdd}},
		{"tdpbf16ps %tmm1, %tmm2, %tmm3", opDotBF16.registers(3, 2, 1), []byte{0xc4, 0xe2, 0x72, 0x5c, 0xda}},
	} {
		if !bytes.Equal(c.got, c.want) {
			t.Errorf("%s: % x, want % x", c.name, c.got, c.want)
		}
	}
}

// What does not exist is refused.
func TestAMXRefusals(t *testing.T) {
	for name, f := range map[string]func(){
		"virtual register": func() { gp(reg.NewCollection().GP64()) },
		"SP as index":      func() { opLoad.memory(0, address(reg.RAX, reg.RSP, 0)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was accepted", name)
				}
			}()
			f()
		}()
	}
}
