//! Owns as much of HTTP/1.1 as an agent program on this machine needs: one request, one answer, and the end.
//!
//! Knows nothing of what is asked.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
};

use serde_json::Value;

/// The most a request may have, in bytes.
const BODY_MAX_BYTES: u64 = 64 * 1024 * 1024;

pub(super) struct Request {
    pub(super) path: String,
    pub(super) body: Vec<u8>,
}

/// Reads one request.
pub(super) fn read(stream: &TcpStream) -> io::Result<Request> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let target = line.split(' ').nth(1).ok_or_else(|| io::Error::other("no request"))?;
    let path = target.split('?').next().unwrap_or_default().to_owned();
    let (mut length, mut chunked) = (0, false);
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().map_err(io::Error::other)?,
            "transfer-encoding" => chunked = value.trim().eq_ignore_ascii_case("chunked"),
            _ => {}
        }
    }
    let mut body = Vec::new();
    if chunked {
        while body.len() < usize::try_from(BODY_MAX_BYTES).unwrap_or(usize::MAX) {
            line.clear();
            stream.read_line(&mut line)?;
            let size = line.trim_end().split(';').next().unwrap_or_default();
            let size = u64::from_str_radix(size, 16).map_err(io::Error::other)?;
            stream.by_ref().take(size.min(BODY_MAX_BYTES)).read_to_end(&mut body)?;
            line.clear();
            stream.read_line(&mut line)?;
            if size == 0 {
                break;
            }
        }
    } else {
        stream.take(length.min(BODY_MAX_BYTES)).read_to_end(&mut body)?;
    }
    Ok(Request { path, body })
}

/// Answers with one object.
pub(super) fn json(stream: &mut dyn Write, status: u64, body: &Value) -> io::Result<()> {
    let body = body.to_string();
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    )?;
    stream.flush()
}

/// Begins an answer that comes in events and ends with the connection.
pub(super) fn open_events(stream: &mut dyn Write) -> io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\nconnection: close\r\n\r\n",
    )
}

/// Sends one event.
pub(super) fn event(stream: &mut dyn Write, name: &str, data: &Value) -> io::Result<()> {
    write!(stream, "event: {name}\ndata: {data}\n\n")?;
    stream.flush()
}
