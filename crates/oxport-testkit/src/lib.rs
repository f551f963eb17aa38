//! What tests share: the file-test driver, the conformance runner, drawn programs, tolerances.
