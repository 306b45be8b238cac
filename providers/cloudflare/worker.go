package cloudflare

// WorkerName is the name of a Worker, by which others call it and queues reach it. It stands here since both refer to each
// other's services.
type WorkerName string
