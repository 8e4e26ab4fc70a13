#include "textflag.h"

// func prefetchLines(p unsafe.Pointer, lines int)
TEXT ·prefetchLines(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ lines+8(FP), CX
loop:
	BYTE $0x0f; BYTE $0x0d; BYTE $0x08 // PREFETCHW (AX), which no 64-bit CPU refuses
	ADDQ $64, AX
	DECQ CX
	JNZ  loop
	RET
