package tracetest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// read says what a system call asks for; ok is false where that is none of the operations on a file that is watched.
func (t *tracer) read(tid int, info callInfo) (op Op, ok bool, err error) {
	a := info.args
	switch info.number {
	case unix.SYS_OPENAT:
		return t.open(a)
	case unix.SYS_MKDIRAT:
		return t.named(MakeDir, a[0], a[1], 0, 0)
	case unix.SYS_UNLINKAT:
		return t.named(Remove, a[0], a[1], 0, 0)
	case unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2:
		return t.named(Mode, a[0], a[1], 0, 0)
	case unix.SYS_LINKAT:
		return t.named(Link, a[2], a[3], a[0], a[1])
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		return t.named(Rename, a[2], a[3], a[0], a[1])
	case unix.SYS_SYMLINKAT:
		return t.named(Create, a[1], a[2], 0, 0)
	case unix.SYS_WRITE, unix.SYS_PWRITE64:
		op, ok = t.described(Write, a[0])
		if !ok {
			return op, false, nil
		}
		if op.Offset = int64(a[3]); info.number == unix.SYS_WRITE {
			if op.Offset, err = t.position(a[0]); err != nil {
				return op, false, err
			}
		}
		op.Data, err = t.bytes(a[1], a[2])
		return op, err == nil, err
	case unix.SYS_FTRUNCATE:
		op, ok = t.described(Truncate, a[0])
		op.Size = int64(a[1])
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		op, ok = t.described(Sync, a[0])
	case unix.SYS_FCHMOD:
		op, ok = t.described(Mode, a[0])
	case unix.SYS_COPY_FILE_RANGE:
		op, ok = t.described(Copy, a[2])
	case unix.SYS_SENDFILE:
		op, ok = t.described(Copy, a[0])
	case unix.SYS_SPLICE:
		op, ok = t.described(Copy, a[2])
	case unix.SYS_FLOCK:
		op, ok = t.described(lockKind(a[1]), a[0])
	case unix.SYS_OPEN, unix.SYS_CREAT, unix.SYS_RENAME, unix.SYS_LINK, unix.SYS_UNLINK, unix.SYS_RMDIR, unix.SYS_MKDIR,
		unix.SYS_TRUNCATE, unix.SYS_WRITEV, unix.SYS_PWRITEV, unix.SYS_PWRITEV2, unix.SYS_IO_URING_ENTER:
		return t.unread(info)
	}
	return op, ok, nil
}

// unread fails on a way to write that the standard library does not use today: what is not recorded would be
// missing without anybody noticing. Pipes and sockets may be written to in any way.
func (t *tracer) unread(info callInfo) (Op, bool, error) {
	if info.number == unix.SYS_WRITEV || info.number == unix.SYS_PWRITEV || info.number == unix.SYS_PWRITEV2 {
		if _, ok := t.described(Write, info.args[0]); !ok {
			return Op{}, false, nil
		}
	}
	return Op{}, false, fmt.Errorf("system call %d is not understood by tracetest", info.number)
}

func lockKind(how uint64) Kind {
	switch how &^ unix.LOCK_NB {
	case unix.LOCK_SH:
		return Shared
	case unix.LOCK_EX:
		return Locked
	}
	return Unlocked
}

// open reads openat: what matters is a file that is made, or emptied.
func (t *tracer) open(a [6]uint64) (Op, bool, error) {
	flags := a[2]
	if flags&(unix.O_CREAT|unix.O_TRUNC) == 0 {
		return Op{}, false, nil
	}
	path, err := t.path(a[0], a[1])
	if err != nil || !t.sees(path) {
		return Op{}, false, err
	}
	found, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && flags&unix.O_CREAT != 0:
		return Op{Kind: Create, Path: path}, true, nil
	case err != nil || flags&unix.O_TRUNC == 0 || !found.Mode().IsRegular():
		return Op{}, false, nil
	}
	return Op{Kind: Truncate, Path: path, Inode: inodeOf(path, os.Stat)}, true, nil
}

// named is an operation on a name, or on two.
func (t *tracer) named(kind Kind, dir, name, fromDir, fromName uint64) (op Op, ok bool, err error) {
	op.Kind = kind
	if op.Path, err = t.path(dir, name); err != nil || !t.sees(op.Path) {
		return op, false, err
	}
	if fromName != 0 {
		op.From, err = t.path(fromDir, fromName)
	}
	return op, err == nil, err
}

// described is an operation on an open file.
func (t *tracer) described(kind Kind, descriptor uint64) (Op, bool) {
	at := fmt.Sprintf("/proc/%d/fd/%d", t.pid, int32(descriptor))
	path, err := os.Readlink(at)
	path = strings.TrimSuffix(path, " (deleted)")
	if err != nil || !filepath.IsAbs(path) || !t.sees(path) {
		return Op{}, false
	}
	return Op{Kind: kind, Path: path, Inode: inodeOf(at, os.Stat)}, true
}

// position is where the next write of an open file goes.
func (t *tracer) position(descriptor uint64) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", t.pid, int32(descriptor)))
	if err != nil {
		return 0, err
	}
	at, flags := int64(0), int64(0)
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		switch value = strings.TrimSpace(value); name {
		case "pos":
			at, err = strconv.ParseInt(value, 10, 64)
		case "flags":
			flags, err = strconv.ParseInt(value, 8, 64)
		}
		if err != nil {
			return 0, err
		}
	}
	if flags&unix.O_APPEND != 0 {
		info, err := os.Stat(fmt.Sprintf("/proc/%d/fd/%d", t.pid, int32(descriptor)))
		if err != nil {
			return 0, err
		}
		at = info.Size()
	}
	return at, nil
}

// path is a name that was given relative to an open folder, or to the working one.
func (t *tracer) path(dir, name uint64) (string, error) {
	path, err := t.text(name)
	if err != nil || filepath.IsAbs(path) {
		return filepath.Clean(path), err
	}
	from := fmt.Sprintf("/proc/%d/cwd", t.pid)
	if int32(dir) != unix.AT_FDCWD {
		from = fmt.Sprintf("/proc/%d/fd/%d", t.pid, int32(dir))
	}
	base, err := os.Readlink(from)
	return filepath.Join(base, path), err
}

func (t *tracer) bytes(at, n uint64) ([]byte, error) {
	data := make([]byte, n)
	_, err := t.mem.ReadAt(data, int64(at))
	return data, err
}

// text reads what ends in a zero byte. It may end right before memory that is not there.
func (t *tracer) text(at uint64) (string, error) {
	var part [64]byte
	var all []byte
	for {
		n, err := t.mem.ReadAt(part[:min(64, 4096-(at+uint64(len(all)))%4096)], int64(at)+int64(len(all)))
		if end := bytes.IndexByte(part[:n], 0); end >= 0 {
			return string(append(all, part[:end]...)), nil
		}
		if err != nil {
			return "", fmt.Errorf("read a name of the process: %w", err)
		}
		all = append(all, part[:n]...)
	}
}
