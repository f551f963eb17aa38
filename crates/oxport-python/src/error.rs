//! Exceptions of the program, and what stops it: limits and refused requests.
//!
//! Invariants: a [`Raised`] passes through `try`; a [`Stop`] does not, so that a program cannot outlive its limits.

use crate::interp::Interp;
use crate::journal::Slot;
use crate::syntax::tree::{Pos, Source};
use crate::value::{Class, Instance, Name, Namespace, Value};
use std::fmt;
use std::rc::Rc;

/// The result of a step of the program.
pub type R<T> = Result<T, Unwind>;

/// Why a step has no value.
#[derive(Clone)]
pub enum Unwind {
    /// An exception.
    Raised(Box<Raised>),
    /// The end of the program.
    Stop(Box<Stop>),
}

/// An exception on its way.
#[derive(Clone)]
pub struct Raised {
    /// The exception.
    pub value: Value,
    /// The calls that it left, innermost first.
    pub trace: Vec<Place>,
    /// Whether a `raise` or `assert` of the program raised it, rather than the interpreter.
    pub is_explicit: bool,
    /// Whether it says that a module that comes with the interpreter lacks a name, which the real one may have.
    pub is_of_stand_in: bool,
}

/// The end of a program that reached a limit or asked for what is refused.
#[derive(Clone)]
pub struct Stop {
    /// Which it is.
    pub kind: StopKind,
    /// The reason.
    pub message: String,
    /// The calls, innermost first.
    pub trace: Vec<Place>,
}

/// The reasons to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopKind {
    /// A limit was reached.
    Limit,
    /// The program asked for what is refused: files, processes, the network, evaluation of text.
    Refused,
}

/// A place in a call.
#[derive(Clone)]
pub struct Place {
    /// The source.
    pub source: Rc<Source>,
    /// The position.
    pub pos: Pos,
    /// The function's name.
    pub function: Name,
    /// Which call it is.
    pub frame: u64,
}

impl Unwind {
    /// The same, raised by a statement of the program.
    pub fn explicit(mut self) -> Unwind {
        if let Unwind::Raised(raised) = &mut self {
            raised.is_explicit = true;
        }
        self
    }

    /// The same, for want of a name in a module that comes with the interpreter.
    pub(crate) fn of_stand_in(mut self) -> Unwind {
        if let Unwind::Raised(raised) = &mut self {
            raised.is_of_stand_in = true;
        }
        self
    }

    /// Adds the place at which a call was left, once for each call.
    pub fn at(mut self, place: impl FnOnce() -> Place, frame: u64) -> Unwind {
        let trace = match &mut self {
            Unwind::Raised(raised) => &mut raised.trace,
            Unwind::Stop(stop) => &mut stop.trace,
        };
        if trace.last().is_none_or(|last| last.frame != frame) {
            trace.push(place());
        }
        self
    }
}

/// An error as the user sees it.
#[derive(Debug)]
pub struct Error {
    /// The type of the exception, or `limit`, `refused`, `SyntaxError`.
    pub kind: String,
    /// The message.
    pub message: String,
    /// The places, outermost first: file, line, column, function, the line's text.
    pub trace: Vec<(String, Pos, String, String)>,
}

impl Error {
    /// Whether no line of the source is to blame, but the entry or the inputs that were asked for: a name that is not
    /// there, arguments that are missing.
    pub fn is_usage(&self) -> bool {
        let is_of_call = matches!(&*self.kind, "NameError" | "AttributeError" | "TypeError" | "SyntaxError");
        is_of_call && self.trace.iter().all(|(file, ..)| file == ENTRY)
    }
    /// Whether the source may well be right, and asks for what is not supported, modules that are not known included.
    pub fn is_unsupported(&self) -> bool {
        matches!(&*self.kind, "NotImplementedError" | "ImportError" | "ModuleNotFoundError")
    }
    /// Whether the source is not run, or not any further: it is no Python, or asks for what is refused.
    pub fn is_rejected(&self) -> bool {
        matches!(&*self.kind, "SyntaxError" | "IndentationError" | "refused")
    }
}

/// The name of the source that evaluates the entry, in traces.
pub(crate) const ENTRY: &str = "<entry>";

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.trace.is_empty() {
            writeln!(f, "Traceback (most recent call last):")?;
        }
        for (file, pos, function, line) in &self.trace {
            writeln!(f, "  File \"{file}\", line {}, column {}, in {function}", pos.line, pos.col)?;
            writeln!(f, "    {line}")?;
        }
        if self.message.is_empty() { write!(f, "{}", self.kind) } else { write!(f, "{}: {}", self.kind, self.message) }
    }
}

impl std::error::Error for Error {}

/// The exceptions and their bases, bases first.
pub const EXCEPTIONS: &[(&str, &str)] = &[
    ("BaseException", "object"),
    ("Exception", "BaseException"),
    ("GeneratorExit", "BaseException"),
    ("KeyboardInterrupt", "BaseException"),
    ("SystemExit", "BaseException"),
    ("ArithmeticError", "Exception"),
    ("FloatingPointError", "ArithmeticError"),
    ("OverflowError", "ArithmeticError"),
    ("ZeroDivisionError", "ArithmeticError"),
    ("AssertionError", "Exception"),
    ("AttributeError", "Exception"),
    ("BufferError", "Exception"),
    ("EOFError", "Exception"),
    ("ImportError", "Exception"),
    ("ModuleNotFoundError", "ImportError"),
    ("LookupError", "Exception"),
    ("IndexError", "LookupError"),
    ("KeyError", "LookupError"),
    ("MemoryError", "Exception"),
    ("NameError", "Exception"),
    ("UnboundLocalError", "NameError"),
    ("OSError", "Exception"),
    ("BlockingIOError", "OSError"),
    ("ChildProcessError", "OSError"),
    ("ConnectionError", "OSError"),
    ("BrokenPipeError", "ConnectionError"),
    ("ConnectionAbortedError", "ConnectionError"),
    ("ConnectionRefusedError", "ConnectionError"),
    ("ConnectionResetError", "ConnectionError"),
    ("FileExistsError", "OSError"),
    ("FileNotFoundError", "OSError"),
    ("InterruptedError", "OSError"),
    ("IsADirectoryError", "OSError"),
    ("NotADirectoryError", "OSError"),
    ("ProcessLookupError", "OSError"),
    ("PermissionError", "OSError"),
    ("TimeoutError", "OSError"),
    ("ReferenceError", "Exception"),
    ("RuntimeError", "Exception"),
    ("NotImplementedError", "RuntimeError"),
    ("RecursionError", "RuntimeError"),
    ("StopIteration", "Exception"),
    ("StopAsyncIteration", "Exception"),
    ("SyntaxError", "Exception"),
    ("IndentationError", "SyntaxError"),
    ("TabError", "IndentationError"),
    ("SystemError", "Exception"),
    ("TypeError", "Exception"),
    ("ValueError", "Exception"),
    ("UnicodeError", "ValueError"),
    ("UnicodeDecodeError", "UnicodeError"),
    ("UnicodeEncodeError", "UnicodeError"),
    ("UnicodeTranslateError", "UnicodeError"),
    ("Warning", "Exception"),
    ("BytesWarning", "Warning"),
    ("EncodingWarning", "Warning"),
    ("DeprecationWarning", "Warning"),
    ("FutureWarning", "Warning"),
    ("ImportWarning", "Warning"),
    ("PendingDeprecationWarning", "Warning"),
    ("ResourceWarning", "Warning"),
    ("RuntimeWarning", "Warning"),
    ("SyntaxWarning", "Warning"),
    ("UnicodeWarning", "Warning"),
    ("UserWarning", "Warning"),
];

impl Interp {
    /// The attributes that each exception has from the start.
    pub(crate) fn exception_dict(args: Vec<Value>) -> Namespace {
        let mut dict = Namespace::default();
        dict.insert("args".into(), Value::tuple(args));
        dict
    }

    /// An exception of a built-in class with a message.
    pub fn exception(&self, class: &str, args: Vec<Value>) -> Value {
        let is_stop = class == "StopIteration";
        let class = self.exception_class(class);
        let value = args.first().cloned().unwrap_or(Value::None);
        let mut dict = Interp::exception_dict(args);
        if is_stop {
            dict.insert("value".into(), value);
        }
        Value::Instance(Rc::new(Instance {
            class: Slot::new(class),
            dict: Slot::new(dict),
            payload: Slot::new(Value::None),
        }))
    }

    /// A built-in class of exceptions.
    pub fn exception_class(&self, name: &str) -> Rc<Class> {
        match self.builtins.dict.borrow().get(name) {
            Some(Value::Class(class)) => class.clone(),
            _ => self.types.object.clone(),
        }
    }

    /// Raises an exception of a built-in class.
    ///
    /// # Errors
    /// Always.
    pub fn raise<T>(&self, class: &str, message: impl AsRef<str>) -> R<T> {
        self.raise_with(class, vec![Value::str(message.as_ref())])
    }

    /// Raises an exception of a built-in class with these arguments.
    ///
    /// # Errors
    /// Always.
    pub fn raise_with<T>(&self, class: &str, args: Vec<Value>) -> R<T> {
        Err(Unwind::Raised(Box::new(Raised {
            value: self.exception(class, args),
            trace: Vec::new(),
            is_explicit: false,
            is_of_stand_in: false,
        })))
    }

    /// Raises a `TypeError`.
    ///
    /// # Errors
    /// Always.
    pub fn type_error<T>(&self, message: impl AsRef<str>) -> R<T> {
        self.raise("TypeError", message)
    }

    /// Raises a `ValueError`.
    ///
    /// # Errors
    /// Always.
    pub fn value_error<T>(&self, message: impl AsRef<str>) -> R<T> {
        self.raise("ValueError", message)
    }

    /// Ends the program, past every `try`.
    ///
    /// # Errors
    /// Always.
    pub fn stop<T>(&self, kind: StopKind, message: impl Into<String>) -> R<T> {
        Err(Unwind::Stop(Box::new(Stop { kind, message: message.into(), trace: Vec::new() })))
    }

    /// Whether an exception is of a built-in class.
    pub fn is_raised(&self, unwind: &Unwind, class: &str) -> bool {
        match unwind {
            Unwind::Raised(raised) => self.class_of(&raised.value).is_subclass(&self.exception_class(class)),
            Unwind::Stop(_) => false,
        }
    }

    /// The value of a result, or nothing if a `StopIteration` or the like was raised.
    ///
    /// # Errors
    /// Other exceptions.
    pub fn unless<T>(&self, result: R<T>, class: &str) -> R<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(unwind) if self.is_raised(&unwind, class) => Ok(None),
            Err(unwind) => Err(unwind),
        }
    }

    /// The error as the user sees it.
    pub fn describe(&mut self, unwind: Unwind) -> Error {
        let (kind, message, trace) = match unwind {
            Unwind::Stop(stop) => {
                let kind = match stop.kind {
                    StopKind::Limit => "limit",
                    StopKind::Refused => "refused",
                };
                (kind.to_string(), stop.message, stop.trace)
            }
            Unwind::Raised(raised) => {
                let kind = self.class_of(&raised.value).name.to_string();
                let message = self.str(&raised.value).unwrap_or_else(|_| Name::from("<exception str() failed>"));
                (kind, message.to_string(), raised.trace)
            }
        };
        let line = |place: &Place| {
            let text = place.source.line(place.pos.line).to_string();
            (place.source.name.clone(), place.pos, place.function.to_string(), text)
        };
        Error { kind, message, trace: trace.iter().rev().map(line).collect() }
    }
}
