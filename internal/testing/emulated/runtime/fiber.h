// Fibers: a context is the stack pointer of a stack whose top holds the registers
// that a call must keep, and where to go on.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

// fiber_switch keeps the caller's context in *from and goes on with to.
extern "C" void fiber_switch(void** from, void* to);

#if defined(__APPLE__)
#define FIBER_NAME "_fiber_switch"
#else
#define FIBER_NAME "fiber_switch"
#endif

#if defined(__x86_64__)
asm(".text\n.globl " FIBER_NAME "\n" FIBER_NAME ":\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\n"
    "popq %rcx\njmp *%rcx\n");
static const int FIBER_ENTRY = 6;
#elif defined(__aarch64__)
asm(".text\n.globl " FIBER_NAME "\n.p2align 2\n" FIBER_NAME ":\n"
    "sub sp, sp, #160\n"
    "stp x19, x20, [sp]\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\nstp x25, x26, [sp, #48]\n"
    "stp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\n"
    "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\nstp d14, d15, [sp, #144]\n"
    "mov x9, sp\nstr x9, [x0]\nmov sp, x1\n"
    "ldp x19, x20, [sp]\nldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\nldp x25, x26, [sp, #48]\n"
    "ldp x27, x28, [sp, #64]\nldp x29, x30, [sp, #80]\n"
    "ldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\nldp d14, d15, [sp, #144]\n"
    "add sp, sp, #160\nret\n");
static const int FIBER_ENTRY = 11;
#else
#error "the emulator's fibers know x86-64 and arm64 only: add this machine's registers to fiber.h"
#endif

// fiber_new puts a fiber that begins with entry, which must not return, on a stack
// that ends at top.
inline void* fiber_new(char* top, void (*entry)()) {
	void** sp = (void**)(((uintptr_t)top & ~(uintptr_t)15) - 256);
	for (int i = 0; i < 32; i++) sp[i] = nullptr;
	sp[FIBER_ENTRY] = (void*)entry;
	return sp;
}

// Memory with a page before and behind that faults. Size is a multiple of a page.
inline char* guarded(size_t size) {
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char* p = (char*)mmap(nullptr, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANON, -1, 0);
	if (p == (char*)MAP_FAILED) return nullptr;
	if (mprotect(p + page, size, PROT_READ | PROT_WRITE)) return nullptr;
	return p + page;
}

inline size_t whole_pages(size_t n) {
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	return (n + page - 1) / page * page;
}
