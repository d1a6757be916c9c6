package expr

func (Bool) isExpr()                  {}
func (Bool) String() string           { panic("expr") }
func (Unknown) isExpr()               {}
func (Unknown) String() string        { panic("expr") }
func (And) isExpr()                   {}
func (And) String() string            { panic("expr") }
func (Or) isExpr()                    {}
func (Or) String() string             { panic("expr") }
func (Not) isExpr()                   {}
func (Not) String() string            { panic("expr") }
func (Compare) isExpr()               {}
func (Compare) String() string        { panic("expr") }
func (CompareColumns) isExpr()        {}
func (CompareColumns) String() string { panic("expr") }
func (In) isExpr()                    {}
func (In) String() string             { panic("expr") }
func (IsNull) isExpr()                {}
func (IsNull) String() string         { panic("expr") }
func (IsNaN) isExpr()                 {}
func (IsNaN) String() string          { panic("expr") }
func (StartsWith) isExpr()            {}
func (StartsWith) String() string     { panic("expr") }
func (Like) isExpr()                  {}
func (Like) String() string           { panic("expr") }
func (Match) isExpr()                 {}
func (Match) String() string          { panic("expr") }
