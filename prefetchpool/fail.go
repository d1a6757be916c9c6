package prefetchpool

import "github.com/lakescan/lakescan/failpoints"

var (
	fpPoolPause   = failpoints.New("prefetchpool/pool_pause")    // sleep, pause: before a job runs, in its slot; key = name of the lane
	fpPanicInTask = failpoints.New("prefetchpool/panic_in_task") // panic: in a job; key = its name
	fpBudgetFull  = failpoints.New("prefetchpool/budget_full")   // error: no bytes for speculation. Under the pool's lock: neither sleep nor pause
)
