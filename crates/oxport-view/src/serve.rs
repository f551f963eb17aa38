//! The document over HTTP, to this machine alone.
//!
//! | a request | is answered |
//! |---|---|
//! | of the address with the token, by its own host name | 200, the document |
//! | without the token | 403 |
//! | with another `Host`, as after DNS rebinding | 403 |
//! | of another method than `GET` and `HEAD` | 405 |
//! | larger than 8 KiB, or no HTTP | 431, 400 |
//! | that takes longer than five seconds | 408 |
//!
//! Invariants: the socket is bound to the loopback interface; every request is bounded in size, headers and time, and
//! so is the number of connections that are served at once; nothing of a request is repeated in an answer.

use crate::html;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The largest request, in bytes.
const MAX_REQUEST: usize = 8 << 10;
/// The most headers of a request.
const MAX_HEADERS: usize = 64;
/// How many connections are served at once; others wait.
const MAX_CONNECTIONS: usize = 16;
/// How long a request may take to arrive.
const READ: Duration = Duration::from_secs(5);
/// How long the client may take to accept a part of the answer.
const WRITE: Duration = Duration::from_secs(10);

/// Why a server cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The port cannot be bound.
    #[error("cannot listen on 127.0.0.1:{port}")]
    Bind {
        /// The port that was asked for; 0 stands for any.
        port: u16,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// Connections cannot be accepted any more.
    #[error("cannot accept connections")]
    Accept(#[source] std::io::Error),
}

/// A server of one document.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    site: Arc<Site>,
}

#[derive(Debug)]
struct Site {
    port: u16,
    path: String,
    document: String,
}

impl Server {
    /// Binds a port of the loopback interface; 0 stands for a free one.
    ///
    /// # Errors
    /// The port is taken, or may not be used.
    pub fn bind(port: u16, document: String) -> Result<Server, Error> {
        let failed = |source| Error::Bind { port, source };
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Server { listener, site: Arc::new(Site { port, path: format!("/{}/", token()), document }) })
    }

    /// The address of the document, with the token.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}{}", self.site.port, self.site.path)
    }

    /// Serves until the process ends.
    ///
    /// # Errors
    /// Connections cannot be accepted any more.
    pub fn serve(&self) -> Result<(), Error> {
        let open = Arc::new(AtomicUsize::new(0));
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                // The client has gone.
                Err(e) if matches!(e.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => continue,
                Err(e) => return Err(Error::Accept(e)),
            };
            while open.load(Ordering::Acquire) >= MAX_CONNECTIONS {
                std::thread::sleep(Duration::from_millis(2));
            }
            open.fetch_add(1, Ordering::AcqRel);
            let (site, count) = (self.site.clone(), open.clone());
            let work = move || {
                // A client that goes away is no error.
                drop(site.answer(stream));
                count.fetch_sub(1, Ordering::AcqRel);
            };
            if std::thread::Builder::new().name("oxport-view".into()).spawn(work).is_err() {
                open.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }
}

/// 128 bits that nobody can guess: a keyed hash, whose keys the standard library takes from the operating system.
fn token() -> String {
    let part = || RandomState::new().build_hasher();
    let numbers = [0u64, 1].map(|n| {
        let mut hasher = part();
        hasher.write_u64(n);
        hasher.finish()
    });
    format!("{:016x}{:016x}", numbers[0], numbers[1])
}

/// An answer without a document.
struct Refusal(&'static str, &'static str);

impl Site {
    fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_write_timeout(Some(WRITE))?;
        let found = self.read(&mut stream)?;
        let (status, kind, body, has_body) = match &found {
            Ok(has_body) => ("200 OK", "text/html", &*self.document, *has_body),
            Err(Refusal(status, why)) => (*status, "text/plain", *why, true),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {}\r\n\
             Content-Security-Policy: {}; frame-ancestors 'none'\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\n\
             Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\n\
             Connection: close\r\n\r\n",
            body.len(),
            html::policy(),
        );
        stream.write_all(head.as_bytes())?;
        if has_body {
            stream.write_all(body.as_bytes())?;
        }
        stream.flush()?;
        stream.shutdown(std::net::Shutdown::Write)
    }

    /// Reads a request, up to the end of its headers; says whether the document itself is wanted.
    fn read(&self, stream: &mut TcpStream) -> std::io::Result<Result<bool, Refusal>> {
        let end = Instant::now() + READ;
        let (mut bytes, mut buffer) = (Vec::new(), [0u8; 1024]);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Err(Refusal("408 Request Timeout", "the request took too long\n")));
            }
            stream.set_read_timeout(Some(left))?;
            let count = match stream.read(&mut buffer) {
                Ok(0) => return Ok(Err(Refusal("400 Bad Request", "expected a request\n"))),
                Ok(count) => count,
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {
                    continue;
                }
                Err(e) => return Err(e),
            };
            bytes.extend_from_slice(&buffer[..count]);
            if bytes.len() > MAX_REQUEST {
                return Ok(Err(Refusal("431 Request Header Fields Too Large", "the request is too large\n")));
            }
            if let Some(found) = self.parse(&bytes) {
                return Ok(found);
            }
        }
    }

    /// What a request is for; `None` if it is not whole.
    fn parse(&self, bytes: &[u8]) -> Option<Result<bool, Refusal>> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(bytes) {
            Ok(httparse::Status::Partial) => return None,
            Ok(httparse::Status::Complete(_)) => {}
            Err(httparse::Error::TooManyHeaders) => {
                return Some(Err(Refusal("431 Request Header Fields Too Large", "too many headers\n")));
            }
            Err(_) => return Some(Err(Refusal("400 Bad Request", "expected HTTP/1.1\n"))),
        }
        let mut hosts = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
        let host = hosts.next().filter(|_| hosts.next().is_none()).map_or(&b""[..], |header| header.value);
        let own = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        if !own.iter().any(|own| own.as_bytes() == host) {
            return Some(Err(Refusal("403 Forbidden", "this server answers by its own address only\n")));
        }
        if !is_same(request.path.unwrap_or_default().as_bytes(), self.path.as_bytes()) {
            return Some(Err(Refusal("403 Forbidden", "expected the address that oxport view printed\n")));
        }
        Some(match request.method {
            Some("GET") => Ok(true),
            Some("HEAD") => Ok(false),
            _ => Err(Refusal("405 Method Not Allowed", "expected GET\n")),
        })
    }
}

/// Compares in a time that does not tell how much is equal.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}
