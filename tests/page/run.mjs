// SPDX-License-Identifier: Apache-2.0
// Plays every file of tests, two at a time: `node run.mjs`, or `node run.mjs stock.test.mjs …`. The
// runner of Node 18 has no option for that on its command line, and no summary that .ci/run counts.
import { readdirSync } from 'node:fs';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { make_cluster } from './service.mjs';

const at_once = 2; // each has a service, a database and a browser of its own

const named = process.argv.slice(2);
const longest = 'looks.test.mjs'; // first, so that the others are played beside it
const files = named.length > 0 ? named
  : readdirSync('.').filter((name) => name.endsWith('.test.mjs'))
    .sort((a, b) => (b === longest) - (a === longest) || (a < b ? -1 : 1));

const cluster = await make_cluster();
process.env.HOLDFAST_PAGE_CLUSTER = cluster.data;

let passed = 0;
let failed = 0;
const is_case = ({ details }) => details.type !== 'suite';
const played = run({ files: files.map((name) => `${process.cwd()}/${name}`), concurrency: at_once })
  .on('test:pass', (outcome) => { if (is_case(outcome)) passed += 1; })
  .on('test:fail', (outcome) => { if (is_case(outcome)) failed += 1; })
  .on('end', () => {
    cluster.end();
    console.log(`[doctest] test cases: ${passed + failed} | ${passed} passed | ${failed} failed`);
    process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
  });
// Node 18 gives the reporter as a class, later ones as a function that is one, too.
played.compose(new spec()).pipe(process.stdout);
