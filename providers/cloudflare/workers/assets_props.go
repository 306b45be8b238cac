package workers

// Assets are static files that a Worker serves.
type Assets struct {
	// Directory with the files, relative to the stack's directory. What .assetsignore in it names is left out, as git would;
	// _headers and _redirects in it say what is sent along and where to. Up to 20,000 files of up to 25 MiB each.
	Directory string `prop:"required"`
	// HTMLHandling says how addresses and .html files go together.
	HTMLHandling *string `prop:"enum=auto-trailing-slash|force-trailing-slash|drop-trailing-slash|none,default=auto-trailing-slash"`
	// NotFoundHandling says what is answered where there is no file. Default: none.
	NotFoundHandling string `prop:"enum=none|404-page|single-page-application"`
	// RunWorkerFirst asks the code before any file. Default: false.
	RunWorkerFirst bool
	// RunWorkerFirstAt asks the code before files at these addresses alone, such as /api/*; those that begin with ! are
	// excepted. Default: none.
	RunWorkerFirstAt []string
}
