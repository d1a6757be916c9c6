// Command cases prints which test holds which case: id, kind, result, package and test.
//
// A case is a failure that users of other readers met (ids L…), or an invariant: of the look-ahead (I…), of catalog and planner (P…).
// They are listed in cases.txt, one a line, with the kind and what goes wrong or must hold. A test holds a case by carrying its id
// right after Test or Fuzz: TestL12_PositionsAreAbsolute, TestI4_BytesStayInBounds, TestL61_I11_SwappedObjectIsAnError. A neighbour is
// a related fault that nobody reported: TestN_DEL1_RenamedKey is the first of the kind DEL. Each kind marked with neighbours in
// cases.txt has at least two.
//
//	cases          run the tests and print their results
//	cases -list    print the mapping only: sources are read, nothing is run
//	cases L12 DEL  only these ids or kinds
//
// Tests behind the build tag integration, and those of nested modules, need servers: they are listed and not run, so a case needs
// another test too. The exit status is 1 if a case has no test that can run, or a test failed or was skipped.
package main
