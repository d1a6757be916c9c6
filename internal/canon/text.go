package canon

import (
	"math"
	"math/big"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendText quotes valid UTF-8 as a string and anything else as binary.
func appendText(dst, b []byte) []byte {
	if !utf8.Valid(b) {
		return appendBytes(dst, b)
	}
	dst = append(dst, '"')
	for _, c := range b {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

func appendBytes(dst, b []byte) []byte {
	dst = append(dst, '"', '0', 'x')
	for _, c := range b {
		dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
	}
	return append(dst, '"')
}

// appendUUID expects 16 bytes.
func appendUUID(dst, b []byte) []byte {
	dst = append(dst, '"')
	for i, c := range b {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
	}
	return append(dst, '"')
}

func appendFloat(dst []byte, x float64, digits int) []byte {
	switch {
	case math.IsNaN(x):
		return append(dst, `"NaN"`...)
	case math.IsInf(x, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(x, -1):
		return append(dst, `"-Infinity"`...)
	}
	return strconv.AppendFloat(dst, x, 'e', digits, 64)
}

// appendDecimal writes unscaled x 10^-scale with exactly scale digits after the point.
func appendDecimal(dst []byte, unscaled *big.Int, scale int) []byte {
	dst = append(dst, '"')
	dst = appendScaled(dst, unscaled, scale)
	return append(dst, '"')
}

func appendScaled(dst []byte, unscaled *big.Int, scale int) []byte {
	digits := new(big.Int).Abs(unscaled).String()
	if unscaled.Sign() < 0 {
		dst = append(dst, '-')
	}
	if scale <= 0 {
		dst = append(dst, digits...)
		for range -scale {
			dst = append(dst, '0')
		}
		return dst
	}
	for n := scale + 1 - len(digits); n > 0; n-- {
		digits = "0" + digits
	}
	dst = append(dst, digits[:len(digits)-scale]...)
	dst = append(dst, '.')
	return append(dst, digits[len(digits)-scale:]...)
}

func appendDate(dst []byte, days int64) []byte {
	dst = append(dst, '"')
	dst = appendCivil(dst, days)
	return append(dst, '"')
}

func appendTime(dst []byte, nanos int64) []byte {
	dst = append(dst, '"')
	dst = appendClock(dst, nanos)
	return append(dst, '"')
}

// appendTimestamp takes a count of units since 1970, perSecond units a second, so no unit overflows on the way.
func appendTimestamp(dst []byte, v, perSecond int64, utc bool) []byte {
	seconds, part := floorDiv(v, perSecond)
	days, second := floorDiv(seconds, 86400)
	dst = append(dst, '"')
	dst = appendCivil(dst, days)
	dst = append(dst, 'T')
	dst = appendClock(dst, second*1e9+part*(1e9/perSecond))
	if utc {
		dst = append(dst, 'Z')
	}
	return append(dst, '"')
}

func floorDiv(a, b int64) (quotient, rest int64) {
	quotient, rest = a/b, a%b
	if rest < 0 {
		quotient, rest = quotient-1, rest+b
	}
	return quotient, rest
}

// appendCivil writes a day count since 1970-01-01 in the proleptic Gregorian calendar.
//
// The arithmetic is that of Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": eras of 400 years that start in March.
func appendCivil(dst []byte, days int64) []byte {
	era, doe := floorDiv(days+719468, 146097)
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	year, month, day := yoe+era*400, mp+3, doy-(153*mp+2)/5+1
	if mp >= 10 {
		month, year = mp-9, year+1
	}
	if year < 0 {
		dst, year = append(dst, '-'), -year
	}
	dst = appendPadded(dst, year, 4)
	dst = appendPadded(append(dst, '-'), month, 2)
	return appendPadded(append(dst, '-'), day, 2)
}

// appendClock writes a count of nanoseconds since midnight.
func appendClock(dst []byte, nanos int64) []byte {
	seconds, frac := floorDiv(nanos, 1e9)
	dst = appendPadded(dst, seconds/3600, 2)
	dst = appendPadded(append(dst, ':'), seconds/60%60, 2)
	dst = appendPadded(append(dst, ':'), seconds%60, 2)
	return appendPadded(append(dst, '.'), frac, 9)
}

func appendPadded(dst []byte, v int64, width int) []byte {
	var scratch [20]byte
	digits := strconv.AppendInt(scratch[:0], v, 10)
	for range width - len(digits) {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}
