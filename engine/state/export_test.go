package state

// DecodeRow opens a row's body that was unsealed.
var DecodeRow = decodeRow
