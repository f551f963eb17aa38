//! Functions from program to program: functionalise, decompose, fold, clean up.
