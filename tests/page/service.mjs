// SPDX-License-Identifier: Apache-2.0
// The real service on a database of its own, for as long as a file of tests needs it.
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './waiting.mjs';

const admin_key = 'hf_test_bootstrap_key_0123456789abcdef0123456789abcdef';
// A first start builds a cluster, perhaps on a busy machine.
const start_deadline_ms = 90_000;
const stop_deadline_ms = 30_000;
const log_tail_characters = 4000;

// Settings of whoever runs the tests are not for the service under test.
function environment_of(more) {
  const own = Object.entries(process.env)
    .filter(([name]) => !/^(HOLDFAST_|PG|TZ$)/.test(name));
  return { ...Object.fromEntries(own), HOLDFAST_ADMIN_KEY: admin_key, ...more };
}

function launch(data, listen, { args = [], environment = {} }) {
  const binary = process.env.HOLDFAST_BINARY;
  if (!binary) throw new Error('HOLDFAST_BINARY does not say which service to test');
  const told = { out: '', log: '' };
  // The kernel ends the service when the tests end in any way at all.
  const child = spawn('setpriv', ['--pdeathsig', 'TERM', binary, 'serve', '--data', data,
    '--listen', listen, ...args],
  { env: environment_of(environment), stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.on('data', (text) => { told.out += text; });
  child.stderr.on('data', (text) => {
    told.log = (told.log + text).slice(-log_tail_characters);
  });
  const ended = new Promise((resolve) => {
    child.once('error', resolve);
    child.once('close', resolve);
  });
  return { child, told, ended, has_ended: () => child.exitCode !== null || !child.pid };
}

async function listening_port(running) {
  const port = await eventually('holdfast listening on …', () => {
    if (running.has_ended()) throw new Error(`the service ended:\n${running.told.log}`);
    return /^holdfast listening on http:\/\/127\.0\.0\.1:(\d+)$/m.exec(running.told.out)?.[1];
  }, start_deadline_ms);
  return Number(port);
}

function end_database(data) {
  const note = join(data, 'postgres', 'cluster', 'postmaster.pid');
  if (!existsSync(note)) return;
  const [pid] = readFileSync(note, 'utf8').split('\n');
  process.kill(Number(pid), 'SIGQUIT');
}

// A cluster with the schema and nothing else, for services to begin with a copy of.
export async function make_cluster() {
  const scratch = mkdtempSync(join(tmpdir(), 'holdfast-page-cluster-'));
  chmodSync(scratch, 0o711);
  const data = join(scratch, 'data');
  const running = launch(data, '127.0.0.1:0', {});
  await listening_port(running);
  running.child.kill('SIGTERM');
  await running.ended;
  return { data, end: () => rmSync(scratch, { recursive: true, force: true }) };
}

export async function start_service(options = {}) {
  const scratch = mkdtempSync(join(tmpdir(), 'holdfast-page-'));
  // The service's own cluster may run as another user and has to get through here.
  chmodSync(scratch, 0o711);
  const data = join(scratch, 'data');
  // Making a cluster takes longer than most tests; owners and modes are part of it.
  const made = process.env.HOLDFAST_PAGE_CLUSTER;
  if (made) execFileSync('cp', ['-a', made, data]);
  let running = launch(data, '127.0.0.1:0', options);
  const port = await listening_port(running);

  async function end_process() {
    if (running.has_ended()) return;
    running.child.kill('SIGTERM');
    const alarm = setTimeout(() => running.child.kill('SIGKILL'), stop_deadline_ms);
    await running.ended;
    clearTimeout(alarm);
  }
  return {
    url: `http://127.0.0.1:${port}`,
    admin_key,
    // The link for whoever becomes the first owner; it is printed at a start without staff.
    first_link: () => eventually('a link for the first owner',
      () => /\S+\/admin\/#first=\S+/.exec(running.told.out)?.[0]),
    log_tail: () => running.told.log,
    go_away: end_process,
    // The same data behind the same address, as after a restart of the machine.
    async come_back() {
      running = launch(data, `127.0.0.1:${port}`, options);
      await listening_port(running);
    },
    async end() {
      // Nobody needs the data any more, so nothing need be put in order first.
      if (!running.has_ended()) {
        running.child.kill('SIGKILL');
        end_database(data);
        await running.ended;
      }
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}
