//go:build duckdb_arrow && cgo

package duckdb

/*
#include <stdint.h>
#include <stdlib.h>

void lakescanBind(void *);
void lakescanInit(void *);
void lakescanLocalInit(void *);
void lakescanFunction(void *, void *);
void lakescanDelete(void *);

typedef void (*lakescan_one)(void *);
typedef void (*lakescan_two)(void *, void *);
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime/cgo"
	"runtime/debug"
	"sync"
	"unsafe"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// functionName of the table function behind every view. The gate lets no statement call it by name.
const functionName = "lakescan"

// function is the registered table function of one instance.
type function struct {
	in   *instance
	self unsafe.Pointer // box of this, DuckDB's extra info
	refs map[string]*reference

	mu struct {
		sync.Mutex
		ctx   context.Context // of the run; nil before
		err   error           // the first Go error of a callback
		scans map[*scan]struct{}
		ahead map[*reference]*scan // opened before DuckDB asks for them
	}
}

// registerFunction makes lakescan(key) known to the instance.
func registerFunction(in *instance) (*function, error) {
	f := &function{in: in, refs: map[string]*reference{}}
	f.mu.scans = map[*scan]struct{}{}
	f.self = box(f)
	tf := bindings.CreateTableFunction()
	defer bindings.DestroyTableFunction(&tf)
	bindings.TableFunctionSetName(tf, functionName)
	key := bindings.CreateLogicalType(bindings.TypeVarchar)
	bindings.TableFunctionAddParameter(tf, key)
	bindings.DestroyLogicalType(&key)
	bindings.TableFunctionSetExtraInfo(tf, f.self, nil)
	bindings.TableFunctionSupportsProjectionPushdown(tf, true)
	bindings.TableFunctionSetBind(tf, unsafe.Pointer(C.lakescan_one(C.lakescanBind)))
	bindings.TableFunctionSetInit(tf, unsafe.Pointer(C.lakescan_one(C.lakescanInit)))
	bindings.TableFunctionSetLocalInit(tf, unsafe.Pointer(C.lakescan_one(C.lakescanLocalInit)))
	bindings.TableFunctionSetFunction(tf, unsafe.Pointer(C.lakescan_two(C.lakescanFunction)))
	if bindings.RegisterTableFunction(in.conn, tf) == bindings.StateError {
		unbox(f.self)
		return nil, errors.New("duckdb: the table function was refused")
	}
	return f, nil
}

// close frees what callbacks used; the instance must be closed before.
func (f *function) close() {
	f.mu.Lock()
	left := f.mu.scans
	ahead := f.mu.ahead
	f.mu.scans, f.mu.ahead = nil, nil
	f.mu.Unlock()
	for s := range left {
		s.close()
	}
	for _, s := range ahead {
		s.close()
	}
	for _, r := range f.refs {
		r.close()
	}
	unbox(f.self)
}

// fail keeps the first error, so that what DuckDB reports as text is still a Go error for the caller.
func (f *function) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.err == nil {
		f.mu.err = err
	}
}

func (f *function) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.err
}

// running sets the context of every scan that starts from now on.
func (f *function) running(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.ctx = ctx
}

// box puts a Go value where C may hold it. DuckDB gets a pointer to C memory that holds the handle: a handle itself is no
// pointer, and must not look like one.
func box(v any) unsafe.Pointer {
	p := (*C.uintptr_t)(C.malloc(C.size_t(unsafe.Sizeof(C.uintptr_t(0)))))
	*p = C.uintptr_t(cgo.NewHandle(v))
	return unsafe.Pointer(p)
}

func value[T any](p unsafe.Pointer) T { return cgo.Handle(*(*C.uintptr_t)(p)).Value().(T) }

func unbox(p unsafe.Pointer) {
	cgo.Handle(*(*C.uintptr_t)(p)).Delete()
	C.free(p)
}

var deleteCallback = unsafe.Pointer(C.lakescan_one(C.lakescanDelete))

// deleter is what a box may hold to hear that DuckDB has dropped it.
type deleter interface{ deleted() }

//export lakescanDelete
func lakescanDelete(p unsafe.Pointer) {
	defer func() { _ = recover() }() // nobody is left to tell
	if d, ok := cgo.Handle(*(*C.uintptr_t)(p)).Value().(deleter); ok {
		d.deleted()
	}
	unbox(p)
}

// caught turns a panic of a callback into the statement's error; report hands the text to DuckDB.
func caught(f *function, report func(string)) {
	if r := recover(); r != nil {
		f.fail(newPanicError(r))
		report(fmt.Sprint("panic: ", r))
	}
}

// panicError is a panic inside a callback or inside the table below it.
func newPanicError(r any) error { return &panicError{value: r, stack: debug.Stack()} }

type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic in a scan: %v", e.value) }

// Stack of the panic, for logs.
func (e *panicError) Stack() []byte { return e.stack }

//export lakescanBind
func lakescanBind(p unsafe.Pointer) {
	info := bindings.BindInfo{Ptr: p}
	f := value[*function](bindings.BindGetExtraInfo(info))
	defer caught(f, func(msg string) { bindings.BindSetError(info, msg) })
	if err := f.bind(info); err != nil {
		f.fail(err)
		bindings.BindSetError(info, err.Error())
	}
}

func (f *function) bind(info bindings.BindInfo) error {
	v := bindings.BindGetParameter(info, 0)
	key := bindings.GetVarchar(v)
	bindings.DestroyValue(&v)
	ref := f.refs[key]
	if ref == nil {
		return fmt.Errorf("no table has the key %q", key)
	}
	if err := ref.makeTypes(f.in); err != nil {
		return err
	}
	for _, c := range ref.columns {
		bindings.BindAddResultColumn(info, c.name, c.logical)
	}
	if n := ref.Table.Rows(); n >= 0 {
		bindings.BindSetCardinality(info, bindings.IdxT(n), false)
	}
	bindings.BindSetBindData(info, box(ref), deleteCallback)
	return nil
}

//export lakescanInit
func lakescanInit(p unsafe.Pointer) {
	info := bindings.InitInfo{Ptr: p}
	f := value[*function](bindings.InitGetExtraInfo(info))
	defer caught(f, func(msg string) { bindings.InitSetError(info, msg) })
	if err := f.init(info); err != nil {
		f.fail(err)
		bindings.InitSetError(info, err.Error())
	}
}

func (f *function) init(info bindings.InitInfo) error {
	ref := value[*reference](bindings.InitGetBindData(info))
	wanted := make([]int, bindings.InitGetColumnCount(info))
	for i := range wanted {
		wanted[i] = int(min(bindings.InitGetColumnIndex(info, bindings.IdxT(i)), bindings.IdxT(len(ref.columns))))
	}
	f.mu.Lock()
	ctx := f.mu.ctx
	f.mu.Unlock()
	if ctx == nil {
		return errors.New("duckdb: a scan started before the run")
	}
	s, err := openScan(ctx, f, ref, wanted)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.mu.scans[s] = struct{}{}
	f.mu.Unlock()
	bindings.InitSetInitData(info, box(s), deleteCallback)
	bindings.InitSetMaxThreads(info, bindings.IdxT(maxThreads))
	return nil
}

// maxThreads that pull from one scan; DuckDB takes no more than its own threads.
const maxThreads = 256

//export lakescanLocalInit
func lakescanLocalInit(p unsafe.Pointer) {
	info := bindings.InitInfo{Ptr: p}
	bindings.InitSetInitData(info, box(&cursor{}), deleteCallback)
}

//export lakescanFunction
func lakescanFunction(p, out unsafe.Pointer) {
	info := bindings.FunctionInfo{Ptr: p}
	s := value[*scan](bindings.FunctionGetInitData(info))
	defer caught(s.fn, func(msg string) { bindings.FunctionSetError(info, msg) })
	c := value[*cursor](bindings.FunctionGetLocalInitData(info))
	if err := s.fill(bindings.DataChunk{Ptr: out}, c); err != nil {
		s.fn.fail(err)
		bindings.FunctionSetError(info, err.Error())
	}
}
