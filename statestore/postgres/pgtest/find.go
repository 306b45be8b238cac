package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

var errNoServer = errors.New("PostgreSQL is not installed: initdb and postgres are neither in PATH nor where packages put them")

// need ends the test when there is no server: skipped for want of the programs, failed for any other reason.
func need(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, errNoServer):
		proctest.Missing(t, "%v", err)
	default:
		t.Fatal(err)
	}
}

// find is the folder of initdb and postgres.
func find() (string, error) {
	if dir := os.Getenv("ATHANOR_POSTGRES"); dir != "" {
		if !whole(dir) {
			return "", fmt.Errorf("$ATHANOR_POSTGRES: %s has no initdb and postgres", dir)
		}
		return dir, nil
	}
	if path, err := exec.LookPath("initdb"); err == nil && whole(filepath.Dir(path)) {
		return filepath.Dir(path), nil
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/lib/postgresql*/bin", "/usr/local/opt/postgresql*/bin", "/opt/homebrew/opt/postgresql*/bin",
	} {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		slices.SortFunc(dirs, func(a, b string) int { return version(b) - version(a) })
		for _, dir := range dirs {
			if whole(dir) {
				return dir, nil
			}
		}
	}
	return "", errNoServer
}

func whole(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// version is the number in a folder's name, 0 when there is none.
func version(dir string) int {
	begin, end := -1, len(dir)
	for i, r := range dir {
		digit := r >= '0' && r <= '9'
		if digit && begin < 0 {
			begin = i
		}
		if !digit && begin >= 0 {
			end = i
			break
		}
	}
	if begin < 0 {
		return 0
	}
	n, err := strconv.Atoi(dir[begin:end])
	if err != nil {
		return 0
	}
	return n
}
