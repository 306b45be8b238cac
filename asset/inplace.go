package asset

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"github.com/athanor-dev/athanor/reconcile/scratch"
)

// asidePrefix begins the names of the folders in which programs are built.
const asidePrefix = "build-"

// InPlace builds a program aside and puts it in its place when it is whole on the disk: the one of before may be running,
// and a build that is cut in the middle leaves nothing that is taken for a program. Where build is to write lies the
// program of before. The go command links nothing when what it would write is there already, which it knows by the build
// id that it has written into a program: of all sources, settings and tools. It never writes into a file that is there, but
// puts a new one in its place. Where there are no hard links it links each time.
func InPlace(out string, build func(aside string) error) error {
	folder := filepath.Dir(out)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	building, err := scratch.New(folder, asidePrefix)
	if err != nil {
		return err
	}
	defer building.Remove()
	aside := filepath.Join(building.Path, filepath.Base(out))
	if isWhole(out) {
		_ = os.Link(out, aside)
	}
	if err := build(aside); err != nil {
		return err
	}
	return publish(aside, out)
}

// publish puts a program in its place when it is whole on the disk. One that is there already stays.
func publish(aside, out string) error {
	built, err := os.Stat(aside)
	if err != nil {
		return err
	}
	if before, err := os.Stat(out); err == nil && os.SameFile(before, built) {
		return nil
	}
	file, err := os.OpenFile(aside, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close(), os.WriteFile(sizeFile(out), sizeText(built), 0o600)); err != nil {
		return err
	}
	return os.Rename(aside, out)
}

// sizeFile holds how large a program was when it was put in its place. The build id stands at a program's beginning and
// says nothing about its end.
func sizeFile(out string) string { return out + ".size" }

func sizeText(info os.FileInfo) []byte { return strconv.AppendInt(nil, info.Size(), 10) }

// isWhole reports whether a program is as large as it was when it was put in its place.
func isWhole(out string) bool {
	info, err := os.Stat(out)
	if err != nil {
		return false
	}
	text, err := os.ReadFile(sizeFile(out))
	return err == nil && string(text) == string(sizeText(info))
}
