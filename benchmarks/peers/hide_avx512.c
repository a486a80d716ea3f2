// Hides AVX-512 and AMX from a process that loads this first: CPUID faults, and is answered here.
//
// Linux lets a thread have its CPUID instructions fault (arch_prctl(ARCH_SET_CPUID, 0)), where the
// processor can, which is `cpuid_fault` in /proc/cpuinfo; threads inherit it. Libraries that choose
// their code by CPUID then choose what they have for AVX2.

#define _GNU_SOURCE
#include <asm/prctl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

// Leaf 7: AVX-512 F, DQ, IFMA, PF, ER, CD, BW, VL in EBX; VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ in
// ECX; 4VNNIW, 4FMAPS, VP2INTERSECT, AMX BF16, FP16, TILE, INT8 in EDX; of subleaf 1, AVX-VNNI,
// BF16 and AMX FP16 in EAX.
#define EBX_7 0xdc230000u
#define ECX_7 0x00005842u
#define EDX_7 0x03c0010cu
#define EAX_7_1 0x00200030u
#define STATE_OF_AVX2 7u  // x87, SSE, AVX: of leaf 13

static struct sigaction before;

static void answer(int number, siginfo_t *info, void *context) {
  greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
  const uint8_t *at = (const uint8_t *)r[REG_RIP];
  if (info->si_code != SI_KERNEL || at[0] != 0x0f || at[1] != 0xa2) {
    sigaction(SIGSEGV, &before, 0);  // another fault, which comes again
    return;
  }
  uint32_t leaf = r[REG_RAX], subleaf = r[REG_RCX], a = leaf, b, c = subleaf, d;
  syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1);
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
  if (leaf == 7 && subleaf == 0) b &= ~EBX_7, c &= ~ECX_7, d &= ~EDX_7;
  if (leaf == 7 && subleaf == 1) a &= ~EAX_7_1;
  if (leaf == 13 && subleaf == 0) a &= STATE_OF_AVX2;
  r[REG_RAX] = a, r[REG_RBX] = b, r[REG_RCX] = c, r[REG_RDX] = d;
  r[REG_RIP] += 2;
}

__attribute__((constructor)) static void hide(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = answer;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, &before);
  syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
}
