package render

import (
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// bindTime is for dates, times, timestamps, durations and intervals; nil if a is none.
func (s style) bindTime(a arrow.Array) cell {
	switch a := a.(type) {
	case *array.Date32:
		return s.quotedCell(func(dst []byte, i int) []byte { return appendDate(dst, int64(a.Value(i))) })
	case *array.Date64:
		return s.quotedCell(func(dst []byte, i int) []byte { return appendDate(dst, floorDiv(int64(a.Value(i)), 86400e3)) })
	case *array.Time32:
		n := perSecond(a.DataType())
		return s.quotedCell(func(dst []byte, i int) []byte { return s.appendClock(dst, int64(a.Value(i)), n) })
	case *array.Time64:
		n := perSecond(a.DataType())
		return s.quotedCell(func(dst []byte, i int) []byte { return s.appendClock(dst, int64(a.Value(i)), n) })
	case *array.Timestamp:
		return s.quotedCell(s.timestamps(a))
	case *array.Duration:
		n := perSecond(a.DataType())
		return s.quotedCell(func(dst []byte, i int) []byte { return appendInterval(dst, 0, 0, int64(a.Value(i)), n) })
	case *array.MonthInterval:
		return s.quotedCell(func(dst []byte, i int) []byte { return appendInterval(dst, int64(a.Value(i)), 0, 0, 1) })
	case *array.DayTimeInterval:
		return s.quotedCell(func(dst []byte, i int) []byte {
			v := a.Value(i)
			return appendInterval(dst, 0, int64(v.Days), int64(v.Milliseconds), 1e3)
		})
	case *array.MonthDayNanoInterval:
		return s.quotedCell(func(dst []byte, i int) []byte {
			v := a.Value(i)
			return appendInterval(dst, int64(v.Months), int64(v.Days), v.Nanoseconds, 1e9)
		})
	}
	return nil
}

func perSecond(t arrow.DataType) int64 {
	return int64(time.Second / t.(arrow.TemporalWithUnit).TimeUnit().Multiplier())
}

func (s style) timestamps(a *array.Timestamp) cell {
	t := a.DataType().(*arrow.TimestampType)
	n := perSecond(t)
	utc := t.TimeZone == "" || s.json || s.zone == time.UTC
	return func(dst []byte, i int) []byte {
		v := int64(a.Value(i))
		off := 0
		if !utc {
			_, off = time.Unix(floorDiv(v, n), 0).In(s.zone).Zone()
		}
		days, rest := floorDiv(v, n*86400), int64(0)
		rest = v - days*n*86400 + int64(off)*n // never the sum v+off: v may be at the end of its range
		for ; rest < 0; rest += n * 86400 {
			days--
		}
		for ; rest >= n*86400; rest -= n * 86400 {
			days++
		}
		dst = appendDate(dst, days)
		if s.json {
			dst = append(dst, 'T')
		} else {
			dst = append(dst, ' ')
		}
		dst = s.appendClock(dst, rest, n)
		switch {
		case t.TimeZone == "":
		case s.json:
			dst = append(dst, 'Z')
		default:
			dst = appendOffset(dst, off)
		}
		return dst
	}
}

func appendOffset(dst []byte, off int) []byte {
	sign := byte('+')
	if off < 0 {
		sign, off = '-', -off
	}
	dst = appendPadded(append(dst, sign), int64(off/3600), 2)
	dst = appendPadded(append(dst, ':'), int64(off/60%60), 2)
	if off%60 != 0 { // local mean time of the nineteenth century
		dst = appendPadded(append(dst, ':'), int64(off%60), 2)
	}
	return dst
}

// appendClock writes v units of 1/n second as HH:MM:SS and a fraction: all its digits in json, else as many as are needed.
func (s style) appendClock(dst []byte, v, n int64) []byte {
	dst = appendPadded(dst, v/n/3600, 2)
	dst = appendPadded(append(dst, ':'), v/n/60%60, 2)
	dst = appendPadded(append(dst, ':'), v/n%60, 2)
	digits := 0
	for m := n; m > 1; m /= 10 {
		digits++
	}
	frac := v % n
	if digits == 0 || !s.json && frac == 0 {
		return dst
	}
	dst = appendPadded(append(dst, '.'), frac, digits)
	for !s.json && dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

func appendPadded(dst []byte, v int64, width int) []byte {
	for p := int64(10); width > 1; width, p = width-1, p*10 {
		if v < p {
			for k := width; k > 1; k-- {
				dst = append(dst, '0')
			}
			break
		}
	}
	return strconv.AppendInt(dst, v, 10)
}

// appendDate writes [-]YYYY-MM-DD of the proleptic Gregorian calendar; package time stops at four digits.
func appendDate(dst []byte, days int64) []byte {
	z := days + 719468 // from 0000-03-01: the leap day ends its year
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d, m, y := doy-(153*mp+2)/5+1, (mp+2)%12+1, yoe+era*400
	if m <= 2 {
		y++
	}
	if y < 0 {
		dst, y = append(dst, '-'), -y
	}
	dst = appendPadded(dst, y, 4)
	dst = appendPadded(append(dst, '-'), m, 2)
	return appendPadded(append(dst, '-'), d, 2)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// appendInterval writes an ISO 8601 duration: P1Y2M3DT4.5S; each part keeps its own sign.
func appendInterval(dst []byte, months, days, units, perSecond int64) []byte {
	dst = append(dst, 'P')
	start := len(dst)
	part := func(v int64, unit byte) {
		if v != 0 {
			dst = append(strconv.AppendInt(dst, v, 10), unit)
		}
	}
	part(months/12, 'Y')
	part(months%12, 'M')
	part(days, 'D')
	if units == 0 {
		if len(dst) == start {
			dst = append(dst, "T0S"...)
		}
		return dst
	}
	dst = append(dst, 'T')
	whole, frac := units/perSecond, units%perSecond
	if units < 0 {
		dst, whole, frac = append(dst, '-'), -whole, -frac
	}
	dst = strconv.AppendInt(dst, whole, 10)
	if frac != 0 {
		width := 0
		for m := perSecond; m > 1; m /= 10 {
			width++
		}
		dst = appendPadded(append(dst, '.'), frac, width)
		for dst[len(dst)-1] == '0' {
			dst = dst[:len(dst)-1]
		}
	}
	return append(dst, 'S')
}
