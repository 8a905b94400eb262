// SPDX-License-Identifier: Apache-2.0
// Somebody who is called by webhooks, and answers as a test wants.
import { createServer } from 'node:http';

export function start_receiver() {
  const calls = [];
  let status = 204;
  const server = createServer((call, answer) => {
    let body = '';
    call.on('data', (text) => { body += text; });
    call.on('end', () => {
      calls.push({ headers: call.headers, body: JSON.parse(body) });
      answer.writeHead(status).end();
    });
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve({
      url: `http://127.0.0.1:${server.address().port}/hook`,
      calls,
      answer_with(next) { status = next; },
      end: () => new Promise((closed) => {
        server.close(closed);
        server.closeAllConnections();
      }),
    }));
  });
}
