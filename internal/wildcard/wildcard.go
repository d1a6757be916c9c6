// Package wildcard matches names against patterns of "*" and "?". It knows nothing of paths: "*" crosses slashes.
package wildcard

// Match tells whether a pattern covers all of s: "*" stands for any bytes, "?" for one. It takes len(glob) * len(s) steps at most.
func Match(glob, s string) bool {
	star, back := -1, 0
	i, j := 0, 0
	for j < len(s) {
		switch {
		case i < len(glob) && glob[i] == '*':
			star, back = i, j
			i++
		case i < len(glob) && (glob[i] == '?' || glob[i] == s[j]):
			i++
			j++
		case star >= 0:
			back++
			i, j = star+1, back
		default:
			return false
		}
	}
	for i < len(glob) && glob[i] == '*' {
		i++
	}
	return i == len(glob)
}
