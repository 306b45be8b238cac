package here

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare/miniflare"
	"github.com/athanor-dev/athanor/reconcile"
)

// Store is where miniflare keeps what objects of one kind hold.
type Store struct{ folder, object string }

// KV, D1 and R2 are the stores of namespaces, databases and buckets.
func KV() Store { return Store{"kv", "miniflare-KVNamespaceObject"} }

// D1 is the store of databases.
func D1() Store { return Store{"d1", "miniflare-D1DatabaseObject"} }

// R2 is the store of buckets.
func R2() Store { return Store{"r2", "miniflare-R2BucketObject"} }

// Remove deletes what an object of a stage holds. The stack's directory says where to look when there is no session.
func (s Store) Remove(dev *reconcile.Dev, dir string, m reconcile.Mark, id string) error {
	data, ok := dataOf(dev, dir, m)
	if !ok || id == "" {
		return nil
	}
	name := filepath.Join(data, s.folder, s.object, objectID(s.object, id)+".sqlite")
	errs := []error{os.RemoveAll(filepath.Join(data, s.folder, id))}
	for _, ending := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(name + ending); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, tidied(dev, data))...)
}

// RemoveObjects deletes what the Durable Objects of a Worker hold, and that its port is kept.
func RemoveObjects(dev *reconcile.Dev, dir string, m reconcile.Mark, worker string) error {
	data, ok := dataOf(dev, dir, m)
	if !ok {
		return nil
	}
	if ports := portsIn(data); ports[worker] != 0 {
		delete(ports, worker)
		writePorts(data, ports)
	}
	var errs []error
	for _, folder := range objectsOf(data, worker) {
		errs = append(errs, os.RemoveAll(folder))
	}
	return errors.Join(append(errs, tidied(dev, data))...)
}

// objectsOf returns the folders of what the Durable Objects of a Worker hold, one for each class.
func objectsOf(data, worker string) (folders []string) {
	classes, _ := os.ReadDir(filepath.Join(data, objects)) // none where it is not there
	for _, class := range classes {
		// A class is an identifier, which has no hyphen; the name of a Worker may have some.
		if end := strings.LastIndex(class.Name(), "-"); end > 0 && class.Name()[:end] == worker {
			folders = append(folders, filepath.Join(data, objects, class.Name()))
		}
	}
	return folders
}

// RemoveInstances deletes what the instances of a Workflow have kept.
func RemoveInstances(dev *reconcile.Dev, dir string, m reconcile.Mark, workflow string) error {
	data, ok := dataOf(dev, dir, m)
	if !ok || workflow == "" {
		return nil
	}
	err := os.RemoveAll(filepath.Join(data, instances, "miniflare-workflows-"+workflow))
	return errors.Join(err, tidied(dev, data))
}

// instances is the folder of Workflows, each in one of its own.
const instances = "workflows"

// objects is the folder of Durable Objects, each class in one of its own.
const objects = "do"

// tidied removes the folders that are empty now. In a session the runtime works in the folder of the stage, which goes when the session ends.
func tidied(dev *reconcile.Dev, data string) error {
	empty := emptied(data)
	if dev != nil || !empty {
		return nil
	}
	return removeRest(data)
}

// emptied removes the folders of stores that are empty, and reports whether nothing of the stage keeps anything any more.
func emptied(data string) bool {
	for _, s := range []Store{KV(), D1(), R2(), {folder: objects}, {folder: instances}} {
		if s.object != "" {
			os.Remove(filepath.Join(data, s.folder, s.object)) // something may be in it
		}
		if err := os.Remove(filepath.Join(data, s.folder)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return false // something is in it
		}
	}
	return true
}

// removeRest removes what miniflare remembers for itself of a stage.
func removeRest(data string) error {
	err := errors.Join(os.RemoveAll(miniflare.StateOf(data)), os.RemoveAll(data))
	os.Remove(filepath.Dir(data)) // other stages may be there
	return err
}

// objectID is the name of the file of an object, as miniflare makes it of a name.
func objectID(object, name string) string {
	key := sha256.Sum256([]byte(object))
	sign := func(text []byte) []byte {
		h := hmac.New(sha256.New, key[:])
		h.Write(text)
		return h.Sum(nil)[:16]
	}
	first := sign([]byte(name))
	return hex.EncodeToString(append(first, sign(first)...))
}

// DataOf is the folder in which the objects of a stage keep their data, in a session.
func DataOf(dev *reconcile.Dev, dir string, m reconcile.Mark) string {
	data, _ := dataOf(dev, dir, m)
	return data
}

// dataOf is where the local objects of a stage keep their data. Without a session it is looked for from the stack's
// directory upwards, and need not be there.
func dataOf(dev *reconcile.Dev, dir string, m reconcile.Mark) (string, bool) {
	below := filepath.Join("local", m.Stack+"."+m.Stage)
	if dev != nil {
		return filepath.Join(filepath.Dir(dev.Dir), below), true
	}
	for at := dir; ; at = filepath.Dir(at) {
		data := filepath.Join(at, ".athanor", below)
		if _, err := os.Stat(data); err == nil {
			return data, true
		}
		if at == filepath.Dir(at) {
			return "", false
		}
	}
}
