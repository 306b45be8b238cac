package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// fullLog is the size in bytes at which a log is put aside. One older log is kept.
const fullLog = 4 << 20

// recordedLine is a line of a log file, which is one JSON object.
type recordedLine struct {
	Time   time.Time `json:"time"`
	Source string    `json:"source,omitempty"`
	Text   string    `json:"text"`
}

// notes say what runs, for sessions that come after one that could not clean up, and for other commands.
type notes struct {
	// Group is the keeper of the process group that runs now; zero when none does. Leader is the process itself.
	Group  birth `json:"group"`
	Leader birth `json:"leader"`
	// Port is the last one that was chosen.
	Port int `json:"port,omitempty"`
}

// logFile is what a process printed, on disk, with its notes beside it. Files are for the user alone.
type logFile struct {
	path string

	mu   sync.Mutex
	file *os.File // nil once it is closed
	size int64
}

// fileName is a name for the files of an address, which no other address has, whatever the file system thinks of case.
func fileName(address string) string {
	sum := sha256.Sum256([]byte(address))
	readable := url.PathEscape(address)
	return readable[:min(len(readable), 80)] + "-" + hex.EncodeToString(sum[:4])
}

// openLog opens the log of an address, to go on where an earlier session ended.
func openLog(dir string, mark reconcile.Mark, address string) (*logFile, error) {
	l := &logFile{path: logPath(dir, mark, address)}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return nil, err
	}
	return l, l.open()
}

// open opens the file. The lock is held, or nobody else knows the log yet.
func (l *logFile) open() error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	l.file, l.size = file, info.Size()
	return nil
}

// write adds a line. A disk that is full loses lines and stops nobody.
func (l *logFile) write(line reconcile.LogLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return
	}
	data, err := json.Marshal(recordedLine{Time: line.Time.UTC(), Source: line.Source, Text: line.Text})
	if err != nil {
		return
	}
	if l.size > 0 && l.size+int64(len(data)) >= fullLog {
		l.turn()
	}
	if l.file == nil {
		return
	}
	n, _ := l.file.Write(append(data, '\n'))
	l.size += int64(n)
}

// turn puts the log aside and begins a new one. The lock is held.
func (l *logFile) turn() {
	l.file.Close()
	l.file = nil
	if err := os.Rename(l.path, l.path+olderLog); err != nil {
		return
	}
	if err := l.open(); err != nil {
		l.file = nil
	}
}

// olderLog ends the name of the log before this one.
const olderLog = ".1"

func (l *logFile) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

// SweepLogs removes the logs of a stage that are of none of the addresses: their resources were renamed, or their state is lost. Where there
// are notes beside a log, its process may run. No session of the stage may be at work.
func SweepLogs(dir, stack, stage string, addresses iter.Seq[string]) error {
	folder := filepath.Join(dir, stack, stage)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil //nolint:nilerr // there are none
	}
	known := map[string]bool{}
	for address := range addresses {
		known[fileName(address)] = true
	}
	var errs []error
	for _, e := range entries {
		name, isLog := strings.CutSuffix(strings.TrimSuffix(e.Name(), olderLog), ".log")
		_, noted := os.Lstat(filepath.Join(folder, name+".json"))
		if isLog && !known[name] && errors.Is(noted, os.ErrNotExist) {
			errs = append(errs, os.Remove(filepath.Join(folder, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// notesPath is where the notes about the process of a log lie.
func notesPath(log string) string { return strings.TrimSuffix(log, ".log") + ".json" }

// note writes the notes, whole or not at all.
func (l *logFile) note(n notes) error {
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	path := notesPath(l.path)
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	return put(context.Background(), root, filepath.Base(path), body{text: string(data)}, 0o600, true) //nolint:forbidigo // the supervisor of a process has no caller
}

// noted are the notes as they are now, zero without any.
func (l *logFile) noted() notes { return readNotes(l.path) }

func readNotes(log string) notes {
	var n notes
	data, err := os.ReadFile(notesPath(log))
	if err != nil || json.Unmarshal(data, &n) != nil {
		return notes{}
	}
	return n
}

// removeLog removes a log with everything beside it.
func removeLog(log string) error {
	if log == "" {
		return nil
	}
	for _, path := range []string{log, log + olderLog, notesPath(log)} {
		if err := os.Remove(path); err != nil && !missing(err) {
			return err
		}
	}
	for dir := filepath.Dir(log); os.Remove(dir) == nil; dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "dev" {
			break
		}
	}
	return nil
}
