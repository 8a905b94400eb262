// SPDX-License-Identifier: Apache-2.0
// A Redis for the service to stand behind, and a hand that meddles with it.
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from './waiting.mjs';

const run = promisify(execFile);

function free_port() {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject).listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

export async function start_redis() {
  const port = await free_port();
  const place = mkdtempSync(join(tmpdir(), 'holdfast-page-redis-'));
  const child = spawn('setpriv', ['--pdeathsig', 'TERM', 'redis-server', '--port', String(port),
    '--bind', '127.0.0.1', '--dir', place, '--save', ''], { stdio: 'ignore' });
  const ended = new Promise((resolve) => { child.once('close', resolve); });
  const ask = async (...command) =>
    (await run('redis-cli', ['-p', String(port), ...command])).stdout.trim();
  await eventually('a Redis that answers', () => ask('PING').catch(() => null));
  return {
    url: `redis://127.0.0.1:${port}`,
    ask,
    async end() {
      child.kill('SIGTERM');
      await ended;
      rmSync(place, { recursive: true, force: true });
    },
  };
}
