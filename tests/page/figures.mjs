// SPDX-License-Identifier: Apache-2.0
// How fast the page is with a large catalogue, on this machine; no test, because a busy machine is
// no fault. In a build: HOLDFAST_BINARY=… npm run figures [SEED]
import assert from 'node:assert/strict';
import { launch_browser } from './desk.mjs';
import { open_staff_room } from './people.mjs';
import { start_service } from './service.mjs';
import { open_shop } from './shop.mjs';
import { eventually } from './waiting.mjs';

const items = 100_000;
const paints = 10;
const searches = 1000;
const rows_to_scroll = 5000;
const rows_in_document_max = 80;

const seed = Number(process.argv[2] ?? Date.now() % 2 ** 31);
let state = seed;
// A Lehmer generator: the same seed gives the same catalogue and the same searches.
function random(below) {
  state = (state * 48_271) % 0x7fffffff;
  return state % below;
}
const one_of = (list) => list[random(list.length)];

const colours = ['red', 'green', 'blue', 'grey', 'black', 'amber', 'olive', 'ivory', '红色', '蓝色'];
const materials = ['felt', 'linen', 'enamel', 'paper', 'wool', 'oak', 'glass', 'steel', '竹', '瓷'];
const things = ['hat', 'mug', 'lantern', 'scarf', 'chair', 'notebook', 'kettle', 'lamp', '茶杯',
  '灯笼'];

const sku_of = (n) => `CAT-${String(n).padStart(6, '0')}`;

function catalogue() {
  const lines = ['sku,quantity,name'];
  for (let n = 0; n < items; ++n)
    lines.push(`${sku_of(n)},${random(500)},${one_of(materials)} ${one_of(things)} ` +
      `${one_of(colours)} no ${n % 997}`);
  return `${lines.join('\n')}\n`;
}

// What people type: an end of a SKU, a word, two of them, and what is not there.
function wanted() {
  return one_of([
    () => sku_of(random(items)),
    () => sku_of(random(items)).slice(0, 7 + random(3)),
    () => one_of(things),
    () => `${one_of(materials)} ${one_of(things)}`,
    () => `no ${random(997)}`,
    () => `nothing ${random(1000)}`,
  ])();
}

const at_share = (sorted, share) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

function say(what, milliseconds) {
  const sorted = [...milliseconds].sort((a, b) => a - b);
  const told = [['median', 0.5], ['p99', 0.99], ['most', 1]]
    .map(([name, share]) => `${name} ${at_share(sorted, share).toFixed(1)} ms`);
  console.log(`${what}: ${told.join(', ')} (${sorted.length})`);
}

// From the start of the navigation to the frame that shows the first row.
async function first_paint(browser, url, storageState) {
  const context = await browser.newContext({ storageState });
  await context.addInitScript(() => {
    const watch = new MutationObserver(() => {
      if (!document.querySelector('.grid .row[aria-selected]')) return;
      watch.disconnect();
      // The callback of the frame after the next is called when that one is painted.
      requestAnimationFrame(() => requestAnimationFrame(() => {
        window.grid_painted_ms = performance.now();
      }));
    });
    watch.observe(document, { childList: true, subtree: true });
  });
  const page = await context.newPage();
  await page.goto(`${url}/admin/#/stock`);
  const painted = await (await page.waitForFunction(() => window.grid_painted_ms)).jsonValue();
  await context.close();
  return painted;
}

async function scroll(browser, url, storageState) {
  const context = await browser.newContext({ storageState });
  const page = await context.newPage();
  await page.goto(`${url}/admin/#/stock`);
  const grid = page.locator('.grid');
  await grid.locator('.row[aria-selected]').first().waitFor();
  const began = performance.now();
  const found = await grid.evaluate(async (element, wanted_rows) => {
    const frames = [];
    let most = 0;
    let last = performance.now();
    while (element.scrollTop < wanted_rows * 44) {
      element.scrollTop += 400;
      await new Promise(requestAnimationFrame);
      const now = performance.now();
      frames.push(now - last);
      last = now;
      most = Math.max(most, element.querySelectorAll('.row').length);
    }
    return { frames, most };
  }, rows_to_scroll);
  const took = Math.round(performance.now() - began);
  console.log(`scrolled through ${rows_to_scroll} rows in ${took} ms; ` +
    `at most ${found.most} of them were in the document at once`);
  say('a frame while scrolling', found.frames);
  assert.ok(found.most <= rows_in_document_max);
  await context.close();
}

async function answer_ms(shop, query) {
  const began = performance.now();
  await shop.send('GET', `/v1/stock?limit=200&q=${encodeURIComponent(query)}`);
  return performance.now() - began;
}

async function typed_ms(browser, url, storageState) {
  const context = await browser.newContext({ storageState });
  const page = await context.newPage();
  await page.goto(`${url}/admin/#/stock`);
  const all = [];
  for (let n = 0; n < 20; ++n) {
    const sku = sku_of(random(items));
    const began = performance.now();
    await page.locator('input[type=search]').fill(sku);
    await eventually('the one item', async () =>
      await page.locator('.grid .row[aria-selected]').count() === 1 &&
      (await page.locator('.grid .row[aria-selected]').innerText()).startsWith(sku));
    all.push(performance.now() - began);
  }
  await context.close();
  return all;
}

console.log(`seed ${seed}`);
const service = await start_service();
const browser = await launch_browser();
try {
  const shop = open_shop(service);
  const staff = open_staff_room(service);
  const began = performance.now();
  await shop.import_csv(catalogue());
  console.log(`${items} items imported in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  const storage = await staff.state_of('owner');

  const painted = [];
  for (let n = 0; n < paints; ++n) painted.push(await first_paint(browser, service.url, storage));
  say('first paint of the grid, nothing cached', painted);
  const answers = [];
  for (let n = 0; n < searches; ++n) answers.push(await answer_ms(shop, wanted()));
  say('answer to a search, 200 rows at most', answers);
  say('from the last key to the rows, of which 250 ms are the pause',
    await typed_ms(browser, service.url, storage));
  await scroll(browser, service.url, storage);
  await staff.close();
} finally {
  await browser.close();
  await service.end();
}
