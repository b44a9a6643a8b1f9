use crate::{TempDir, workspace::root};
use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

/// nginx as an HTTPS and HTTP/2 front of a server, with the private authority's certificate; killed when dropped.
#[derive(Debug)]
pub struct Nginx {
    child: Child,
    folder: TempDir,
    port: u16,
}

/// Where Debian has it, and where else it may be.
const PLACES: [&str; 3] = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"];

impl Nginx {
    /// Starts it in front of `server`, such as `http://127.0.0.1:8000`. `None`: it is not installed.
    ///
    /// # Panics
    /// When it is installed and does not start.
    #[expect(clippy::expect_used, clippy::panic, reason = "for tests: a test without its front cannot go on")]
    #[expect(clippy::disallowed_methods, reason = "waiting for a process, outside any runtime")]
    pub fn start(server: &str) -> Option<Self> {
        let program = PLACES.iter().find(|place| fs::exists(place).unwrap_or(false))?;
        let folder = TempDir::new("nginx");
        // Free a moment ago; another process can take it before nginx does, which then does not start.
        let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let port = port.expect("a free port").port();
        folder.file("nginx.conf", &configuration(server, port, folder.str()));
        let mut child = Command::new(program)
            .args(["-p", folder.str(), "-c", "nginx.conf", "-e", "error.log"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx starts");
        for _ in 0..500 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(Self { child, folder, port });
            }
            let ended = child.try_wait().ok().flatten();
            let log = || fs::read_to_string(folder.path().join("error.log")).unwrap_or_default();
            assert!(ended.is_none(), "nginx has ended: {}", log());
            thread::sleep(Duration::from_millis(20));
        }
        // Its owner is not made yet, so that nobody else would end it.
        let _ = child.kill();
        panic!("nginx does not listen within ten seconds")
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    /// The certificate that it must be trusted with.
    pub fn ca_file() -> PathBuf {
        fixture("ca.pem")
    }

    /// One line per request that has ended: protocol, method, path, status.
    pub fn log(&self) -> Vec<String> {
        let log = fs::read_to_string(self.folder.path().join("access.log")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Ended already, if a test has gone wrong.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn fixture(name: &str) -> PathBuf {
    root().join("fixtures/tls").join(name)
}

/// One process, nothing outside its folder, nothing buffered.
fn configuration(server: &str, port: u16, folder: &str) -> String {
    let (certificate, key) = (fixture("server.pem"), fixture("server.key"));
    let (certificate, key) = (certificate.display(), key.display());
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("  {name}_temp_path {folder}/{name};\n"))
        .concat();
    format!(
        "daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
{temporary}  log_format used '$server_protocol $request_method $uri $status';
  access_log {folder}/access.log used;
  upstream server {{ server {}; keepalive 64; }}
  server {{
    listen 127.0.0.1:{port} ssl http2;
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    location / {{
      proxy_pass http://server;
      proxy_http_version 1.1;
      proxy_set_header Connection \"\";
      proxy_set_header Host $http_host;
      proxy_buffering off;
    }}
  }}
}}
",
        server.trim_start_matches("http://")
    )
}
