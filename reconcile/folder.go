package reconcile

import "context"

type folderKey struct{}

// WithFolder returns a context that says in which folder the stack is of which a provider is told settings.
func WithFolder(ctx context.Context, folder string) context.Context {
	return context.WithValue(ctx, folderKey{}, folder)
}

// FolderOf is the folder of the stack, "" where nobody said it.
func FolderOf(ctx context.Context) string {
	folder, _ := ctx.Value(folderKey{}).(string)
	return folder
}
