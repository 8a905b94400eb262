// SPDX-License-Identifier: Apache-2.0
// Looks at what the page shows now, as a person does and as axe-core does.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pictures } from './desk.mjs';

const packages = createRequire(import.meta.url);
const axe_source = readFileSync(packages.resolve('axe-core/axe.min.js'), 'utf8');

// Evaluated through the debugger, so the Content-Security-Policy stays as it is for the page.
async function violations_on(page, rules) {
  if (!await page.evaluate(() => 'axe' in window)) {
    const debug = await page.context().newCDPSession(page);
    await debug.send('Runtime.evaluate', { expression: axe_source });
    await debug.detach();
  }
  const { violations } = await page.evaluate((named) => window.axe.run(document, {
    resultTypes: ['violations'],
    ...(named ? { runOnly: { type: 'rule', values: named } } : {}),
  }), rules);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.target.join(' ')} ${node.failureSummary}`));
}

// The whole page, as fast as the browser can: nothing moves, since less motion is asked for.
export async function take_picture(page, name) {
  const debug = await page.context().newCDPSession(page);
  const { cssContentSize: { width, height } } = await debug.send('Page.getLayoutMetrics');
  const { data } = await debug.send('Page.captureScreenshot', {
    format: 'png', captureBeyondViewport: true, optimizeForSpeed: true,
    clip: { x: 0, y: 0, width, height, scale: 1 },
  });
  await debug.detach();
  writeFileSync(join(pictures, `${name}.png`), Buffer.from(data, 'base64'));
}

// Answers with what axe-core finds fault with, by all of its usual rules or by those that are
// named.
export async function look_at(page, name, rules) {
  return (await violations_on(page, rules)).map((violation) => `${name}: ${violation}`);
}
