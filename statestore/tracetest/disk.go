package tracetest

import (
	"bytes"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// sector is what a disk writes whole or not at all, in bytes.
const sector = 512

// Disk is a folder as it was at some time, and what happened to it since. A file's content becomes durable when the
// file is synced, and a name when the folder that it is in is. Nothing else is promised: not the order of what was not
// synced, and not that a name stands for content which was.
type Disk struct {
	root   string
	inodes map[uint64]*inode
	names  map[string]*name
}

// inode is the content of a file.
type inode struct {
	dir     bool
	durable []byte
	pending []Op // Write and Truncate since the last Sync
}

// name says which inode a path stood for, 0 for none: durably, and then one after the other since.
type name struct {
	durable uint64
	pending []uint64
}

// NewDisk takes everything that is in a folder as durable, and the folder itself.
func NewDisk(root string) (*Disk, error) {
	d := &Disk{root: root, inodes: map[uint64]*inode{}, names: map[string]*name{}}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		i := &inode{dir: entry.IsDir()}
		if entry.Type().IsRegular() {
			if i.durable, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		number := inodeOf(path, os.Lstat)
		d.inodes[number], d.names[path] = i, &name{durable: number}
		return nil
	})
	return d, err
}

// Clone is a disk of its own with the same content.
func (d *Disk) Clone() *Disk {
	c := &Disk{root: d.root, inodes: map[uint64]*inode{}, names: map[string]*name{}}
	for number, i := range d.inodes {
		c.inodes[number] = &inode{dir: i.dir, durable: i.durable, pending: slices.Clone(i.pending)}
	}
	for path, n := range d.names {
		c.names[path] = &name{durable: n.durable, pending: slices.Clone(n.pending)}
	}
	return c
}

// Apply takes what happened to the folder.
func (d *Disk) Apply(op Op) {
	switch op.Kind {
	case Create, MakeDir:
		d.inodes[op.Inode] = &inode{dir: op.Kind == MakeDir}
		d.rename(op.Path, op.Inode)
	case Link:
		d.rename(op.Path, op.Inode)
	case Rename:
		d.rename(op.Path, d.current(op.From))
		d.rename(op.From, 0)
	case Remove:
		d.rename(op.Path, 0)
	case Write, Truncate:
		if i := d.inodes[op.Inode]; i != nil {
			i.pending = append(i.pending, op)
		}
	case Sync:
		d.sync(op)
	}
}

func (d *Disk) rename(path string, inode uint64) {
	if d.names[path] == nil {
		d.names[path] = &name{}
	}
	d.names[path].pending = append(d.names[path].pending, inode)
}

func (d *Disk) current(path string) uint64 {
	n := d.names[path]
	switch {
	case n == nil:
		return 0
	case len(n.pending) > 0:
		return n.pending[len(n.pending)-1]
	}
	return n.durable
}

func (d *Disk) sync(op Op) {
	i := d.inodes[op.Inode]
	switch {
	case i == nil:
		return
	case !i.dir:
		i.durable, i.pending = i.image(nil), nil
		return
	}
	for path, n := range d.names {
		if len(n.pending) > 0 && filepath.Dir(path) == op.Path {
			n.durable, n.pending = n.pending[len(n.pending)-1], nil
		}
	}
}

// Unsynced reports whether a power cut now would leave anything open.
func (d *Disk) Unsynced() bool {
	for path, n := range d.names {
		if i := d.inodes[d.current(path)]; len(n.pending) > 0 || i != nil && len(i.pending) > 0 {
			return true
		}
	}
	return false
}

// Lose writes into a folder what may be found after the power went away now. With a nil chance nothing is
// lost. Otherwise each name that is not durable is one of those that it was, and of each content that is not durable
// every sector is as it was or as it was to be, and the length is any on the way. Where the file has grown there
// may be anything else as well: the disk gave it blocks that somebody else had written to.
func (d *Disk) Lose(chance *rand.Rand, into string) error {
	images := map[uint64][]byte{}
	for _, number := range slices.Sorted(maps.Keys(d.inodes)) { // in order: the same chance gives the same loss
		images[number] = d.inodes[number].image(chance)
	}
	for _, path := range slices.Sorted(maps.Keys(d.names)) {
		n := d.names[path]
		choices := append([]uint64{n.durable}, n.pending...)
		number := choices[len(choices)-1]
		if chance != nil {
			number = choices[chance.IntN(len(choices))]
		}
		if number == 0 || d.inodes[number] == nil {
			continue
		}
		if err := d.place(number, path, images[number], into); err != nil {
			return err
		}
	}
	return nil
}

// place puts a file or folder where it belongs, if the folder that it is in was not lost.
func (d *Disk) place(number uint64, path string, image []byte, into string) error {
	rel, err := filepath.Rel(d.root, path)
	if err != nil {
		return err
	}
	at := filepath.Join(into, rel)
	if _, err := os.Stat(filepath.Dir(at)); err != nil && rel != "." {
		return nil //nolint:nilerr // lost with its folder
	}
	if d.inodes[number].dir {
		return os.MkdirAll(at, 0o700)
	}
	return os.WriteFile(at, image, 0o600)
}

// image is the content that may be found.
func (i *inode) image(chance *rand.Rand) []byte {
	sizes, whole := []int{len(i.durable)}, bytes.Clone(i.durable)
	lost := newLoss(chance, int64(len(i.durable)))
	data := bytes.Clone(i.durable)
	for _, op := range i.pending {
		if op.Kind == Truncate {
			whole = resized(whole, int(op.Size))
			data = resized(data, max(int(op.Size), len(data)))
		} else {
			end := int(op.Offset) + len(op.Data)
			whole = resized(whole, max(len(whole), end))
			data = resized(data, max(len(data), end))
			copy(whole[op.Offset:], op.Data)
			lost.write(data, op)
		}
		sizes = append(sizes, len(whole))
	}
	if chance == nil {
		return whole
	}
	at := chance.IntN(len(sizes))
	size := sizes[at]
	if at > 0 && chance.IntN(4) == 0 { // on the way from one length to the next
		low, high := min(sizes[at-1], size), max(sizes[at-1], size)
		size = low + chance.IntN(high-low+1)/sector*sector
	}
	return resized(data, size)
}

func resized(data []byte, size int) []byte {
	if size <= len(data) {
		return data[:size]
	}
	return append(data, make([]byte, size-len(data))...)
}

// loss decides for each sector what becomes of it.
type loss struct {
	chance        *rand.Rand
	kept, foreign float64 // the share that is written, and of the rest the share that is foreign
	grown         int64   // where the durable content ends
}

// newLoss draws how bad it is: nothing written, everything, or a part; foreign content in one of four.
func newLoss(chance *rand.Rand, grown int64) loss {
	l := loss{chance: chance, grown: grown}
	if chance == nil {
		return l
	}
	switch chance.IntN(4) {
	case 0:
	case 1:
		l.kept = 1
	default:
		l.kept = chance.Float64()
	}
	if chance.IntN(4) == 0 {
		l.foreign = chance.Float64()
	}
	return l
}

// write applies what becomes of one write, sector by sector.
func (l loss) write(data []byte, op Op) {
	for from := op.Offset; from < op.Offset+int64(len(op.Data)); {
		to := min((from/sector+1)*sector, op.Offset+int64(len(op.Data)))
		switch {
		case l.chance == nil || l.chance.Float64() < l.kept:
			copy(data[from:to], op.Data[from-op.Offset:])
		case from >= l.grown && l.chance.Float64() < l.foreign:
			for at := from; at < to; at++ {
				data[at] = byte(l.chance.Uint32())
			}
		}
		from = to
	}
}
