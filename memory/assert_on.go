//go:build assert

package memory

import "fmt"

func assertBalanced(name string, left int64) {
	panic(fmt.Sprintf("memory: reporter %s closed with %d bytes", name, left))
}
