# SPDX-License-Identifier: Apache-2.0
"""Answers every POST over TLS with 204. Prints its port, then the webhook-id of each POST.

python3 https_receiver.py CERTIFICATE KEY
"""

import http.server
import ssl
import sys


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        # Before the answer: what was answered is printed.
        print(self.headers["webhook-id"], flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
