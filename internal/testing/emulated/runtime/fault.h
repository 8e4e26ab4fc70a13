// Signals that a kernel raises.
#pragma once

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#ifdef __linux__
#include <ucontext.h>
#endif

#include "state.h"

// Faults in a kernel end the launch with a message; others go where they went before.
static const int SIGNALS[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
static const int NUM_SIGNALS = sizeof SIGNALS / sizeof *SIGNALS;
static struct sigaction before[NUM_SIGNALS];
static sigjmp_buf landing;
static pthread_t runner;
static volatile sig_atomic_t running;

// instruction returns where a signal came from.
static uint64_t instruction(const void* context) {
#if defined(__linux__) && defined(__x86_64__)
	return (uint64_t)((const ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__linux__) && defined(__aarch64__)
	return ((const ucontext_t*)context)->uc_mcontext.pc;
#else
	(void)context;
	return 0;  // the line is not found there
#endif
}

static void complain_of(int signal, const char* at) {
	int i = number(now.fiber);
	const char* stack = stacks + (size_t)i * (STACK + whole_pages(1));
	ptrdiff_t offset = at - emulated_shared;
	if (signal == SIGFPE) complain("thread %d divides an integer by zero", i);
	else if (signal == SIGILL || signal == SIGTRAP) complain("thread %d makes a misaligned access", i);  // the compiler's check traps
	else if (at >= stack && at < stack + whole_pages(1)) complain("thread %d overflows its stack of %zu bytes", i, STACK);
	else if (offset >= 0 && offset < (ptrdiff_t)(now.shared + whole_pages(1) + 128)) complain("thread %d accesses byte %td of %zu bytes of shared memory", i, offset, now.shared);
	else complain("thread %d accesses the address %p", i, at);
}

static void on_fault(int signal, siginfo_t* info, void* context) {
	if (running && pthread_equal(pthread_self(), runner)) {
		now.launch->fault = signal == SIGSEGV || signal == SIGBUS ? (uint64_t)info->si_addr : 0;
		now.launch->code = instruction(context);
		complain_of(signal, (const char*)info->si_addr);
		siglongjmp(landing, 1);
	}
	for (int i = 0; i < NUM_SIGNALS; i++) {
		if (SIGNALS[i] != signal) continue;
		if (before[i].sa_flags & SA_SIGINFO) return before[i].sa_sigaction(signal, info, context);
		if (before[i].sa_handler != SIG_DFL && before[i].sa_handler != SIG_IGN) return before[i].sa_handler(signal);
		sigaction(signal, &before[i], nullptr);  // the access is repeated and ends the process
	}
}

static void catch_faults(bool on) {
	struct sigaction a;
	memset(&a, 0, sizeof a);
	a.sa_sigaction = on_fault;
	a.sa_flags = SA_SIGINFO | SA_ONSTACK;
	sigfillset(&a.sa_mask);
	for (int i = 0; i < NUM_SIGNALS; i++) sigaction(SIGNALS[i], on ? &a : &before[i], on ? &before[i] : nullptr);
}
