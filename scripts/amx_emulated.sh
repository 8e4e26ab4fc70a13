#!/usr/bin/env bash
# Runs the tests of nn/kernel on an emulated CPU with AMX: Linux in Bochs, with a test binary as its only program.
# usage: scripts/amx_emulated.sh [TESTS]   (a pattern for -test.run; default: tiles, entries, tiers)
# Prints the console of the emulated machine; exit status 0 if all tests passed and none was skipped.
# Not part of CI: it needs the programs below. docs/recorded/amx.md says what Bochs must be able to do.
#
#   GO        default: go
#   BOCHS     Bochs with AVX-512 and AMX and the display library nogui (default: bochs)
#   BIOS      its BIOS-bochs-latest (default: /usr/share/bochs/BIOS-bochs-latest)
#   VGABIOS   its VGABIOS-lgpl-latest.bin (default: /usr/share/bochs/VGABIOS-lgpl-latest.bin)
#   KERNEL    a Linux kernel, 5.16 or later, with a serial console (Debian's vmlinuz will do)
#   ISOLINUX  folder with isolinux.bin (default: /usr/lib/ISOLINUX)
#   SYSLINUX  folder with ldlinux.c32 (default: /usr/lib/syslinux/modules/bios)
#   XORRISO   default: xorriso
#   CPIO      default: cpio
#   IPS       emulated instructions a second of emulated time (default: 4000000): fewer give more preemptions
#   LIMIT     seconds until the emulator is ended (default: 1200)
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
cd "$(dirname "$0")/.."
[[ $# -le 1 && ${1:-} != -* ]] || { echo "$0: \"$*\": want one pattern of tests; --help says more" >&2; exit 2; }
tests=${1:-Tile|Direct|Pairs|Entries|ArgumentSizes|StepWords}
go=${GO:-go} bochs=${BOCHS:-bochs} cpio=${CPIO:-cpio} xorriso=${XORRISO:-xorriso}
bios=${BIOS:-/usr/share/bochs/BIOS-bochs-latest} vgabios=${VGABIOS:-/usr/share/bochs/VGABIOS-lgpl-latest.bin}
isolinux=${ISOLINUX:-/usr/lib/ISOLINUX}/isolinux.bin
loader=${SYSLINUX:-/usr/lib/syslinux/modules/bios}/ldlinux.c32
kernel=${KERNEL:?set KERNEL to a Linux kernel, such as /boot/vmlinuz}
for program in "$go" "$bochs" "$cpio" "$xorriso"; do
	command -v "$program" >/dev/null || { echo "$0: there is no $program" >&2; exit 2; }
done
for file in "$bios" "$vgabios" "$isolinux" "$loader" "$kernel"; do
	[ -r "$file" ] || { echo "$0: cannot read $file" >&2; exit 2; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The first process: shows the CPU, runs the tests, lets the console drain and switches off.
cat >"$work/init.go" <<'EOF'
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

func must(err error) {
	if err != nil {
		fmt.Println("init:", err)
	}
}

func main() {
	for dir, kind := range map[string]string{"/proc": "proc", "/tmp": "tmpfs", "/dev": "devtmpfs"} {
		must(os.MkdirAll(dir, 0o755))
		must(syscall.Mount(kind, dir, kind, 0, ""))
	}
	info, err := os.ReadFile("/proc/cpuinfo")
	must(err)
	for line := range strings.Lines(string(info)) {
		if strings.HasPrefix(line, "model name") || strings.HasPrefix(line, "flags") {
			fmt.Print(line)
		}
	}
	tests, err := os.ReadFile("/tests")
	must(err)
	cmd := exec.Command("/kernel.test", "-test.v", "-test.short", "-test.run", string(tests))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
	fmt.Println("result:", cmd.Run())
	const tcsbrk, drain = 0x5409, 1
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, 1, tcsbrk, drain)
	if errno != 0 {
		must(errno)
	}
	must(syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF))
}
EOF
mkdir -p "$work/root" "$work/iso/isolinux"
export CGO_ENABLED=0 GOOS=linux GOARCH=amd64
"$go" build -o "$work/root/init" "$work/init.go"
"$go" test -c -o "$work/root/kernel.test" ./nn/kernel
printf %s "$tests" >"$work/root/tests"
(cd "$work/root" && find . | "$cpio" -o -H newc --quiet) | gzip -1 >"$work/iso/initrd.gz"
cp "$kernel" "$work/iso/vmlinuz"
cp "$isolinux" "$loader" "$work/iso/isolinux/"
# Bochs has FSRM without a fast-string bit in IA32_MISC_ENABLE; Linux 6.1's memmove is wrong on such a CPU.
cat >"$work/iso/isolinux/isolinux.cfg" <<'EOF'
DEFAULT tests
LABEL tests
 KERNEL /vmlinuz
 APPEND initrd=/initrd.gz console=ttyS0 quiet nowatchdog nokaslr mitigations=off panic=-1 clearcpuid=fsrm tsc=unstable clocksource=hpet nolapic_timer
EOF
"$xorriso" -as mkisofs -quiet -o "$work/boot.iso" -b isolinux/isolinux.bin -c isolinux/boot.cat \
	-no-emul-boot -boot-load-size 4 -boot-info-table "$work/iso"
# Its TPAUSE and 57-bit addresses are left out: less to rely on.
cat >"$work/bochsrc" <<EOF
display_library: nogui
config_interface: textconfig
cpu: model=sapphire_rapids, count=1, ips=${IPS:-4000000}, exclude_features="waitpkg,la57,lass,pks,uintr,cet"
memory: guest=1024, host=1024
romimage: file=$bios
vgaromimage: file=$vgabios
ata0-master: type=cdrom, path=$work/boot.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$work/console
log: $work/log
panic: action=fatal
error: action=report
clock: sync=none
EOF
timeout "${LIMIT:-1200}" "$bochs" -q -f "$work/bochsrc" >"$work/out" 2>&1 </dev/null || true
tr -d '\r' <"$work/console" | tee "$work/text"
if grep -q -e '--- SKIP' "$work/text" || ! grep -q '^result: <nil>$' "$work/text"; then
	echo "$0: the tests did not all run and pass" >&2
	tail -5 "$work/log" >&2
	exit 1
fi
