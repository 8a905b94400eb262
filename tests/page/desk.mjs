// SPDX-License-Identifier: Apache-2.0
// A person at a browser, signed in: Debian's Chromium, looked at closely. Whatever the browser
// complains about is a failure of the test, unless the test says before that it provokes it.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { chromium } from 'playwright-core';
import { open_staff_room } from './people.mjs';
import { start_service } from './service.mjs';
import { open_shop } from './shop.mjs';
import { patience_ms } from './waiting.mjs';

const browser_path = '/usr/bin/chromium';
// Far more than any test needs; a machine may be busy with others.
const test_deadline_ms = 240_000;
const size = { width: 1280, height: 800 };

export const pictures = process.env.HOLDFAST_PAGE_SCREENSHOTS ?? 'page-screenshots';
mkdirSync(pictures, { recursive: true });

// Pages are drawn without an imitated graphics card, which costs much and shows the same.
export const launch_browser = () => chromium.launch({
  executablePath: browser_path, args: ['--disable-gpu', '--disable-software-rasterizer'],
});

// Chromium says every refused request on the console by itself; the page cannot help that.
const refused_request = /^Failed to load resource: .*status of (\d+)/;
const lost_request = /^Failed to load resource: net::ERR_/;

function create_guard() {
  const complaints = [];
  const provoked = new Set();
  const is_provoked = (text) => {
    const status = refused_request.exec(text)?.[1];
    if (status) return provoked.has(Number(status));
    return provoked.has('outage') && lost_request.test(text);
  };
  return {
    watch(page) {
      page.on('pageerror', (fault) => complaints.push(`thrown: ${fault.stack ?? fault}`));
      page.on('crash', () => complaints.push('the page crashed'));
      page.on('console', (message) => {
        if (!['error', 'warning', 'assert'].includes(message.type())) return;
        if (is_provoked(message.text())) return;
        complaints.push(`${message.type()}: ${message.text()} (${message.location().url})`);
      });
    },
    provoke: (...what) => what.forEach((one) => provoked.add(one)),
    check: () => assert.deepEqual(complaints, [], 'the browser complained'),
  };
}

// One person's browser. Nobody in particular is `as: null`.
async function sit_down(place, guard, { as = 'owner', language = 'en-GB', theme = 'light',
  viewport = size } = {}) {
  const context = await place.browser.newContext({
    locale: language, colorScheme: theme, viewport, timezoneId: 'Asia/Shanghai',
    reducedMotion: 'reduce',
    ...(as === null ? {} : { storageState: await place.staff.state_of(as) }),
  });
  context.setDefaultTimeout(patience_ms);
  context.on('page', guard.watch);
  const page = await context.newPage();
  return {
    page, context,
    shop: place.shop, service: place.service, staff: place.staff,
    // Goes to a screen as a link would, without loading the page anew when it is there already.
    async go(address) {
      await page.goto(`${place.service.url}/admin/#/${address}`);
      return page;
    },
    colleague: (looks = {}) => place.sit_down(guard, { as: 'manager', ...looks }),
    // Names what the browser will be right to complain about: the status of a refused request, or
    // 'outage' where the service goes away.
    provoke: guard.provoke,
  };
}

function slug(name) {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, '-').slice(0, 60);
}

// Registers what a file of tests needs, and answers with how to write one. The service and the
// browser are there before the first test and gone after the last.
export function workplace(options = {}) {
  const place = { contexts: [] };
  place.sit_down = async (guard, looks) => {
    const desk = await sit_down(place, guard, looks);
    place.contexts.push(desk);
    return desk;
  };

  before(async () => {
    place.service = await start_service(options);
    place.shop = open_shop(place.service);
    place.staff = open_staff_room(place.service);
    place.browser = await launch_browser();
  }, { timeout: 2 * test_deadline_ms });
  after(async () => {
    await place.staff?.close();
    await place.browser?.close();
    await place.service?.end();
  }, { timeout: test_deadline_ms });

  async function play(name, looks, body) {
    const guard = create_guard();
    try {
      await body(await place.sit_down(guard, looks));
    } catch (fault) {
      await Promise.all(place.contexts.map((desk, index) => desk.page.screenshot({
        path: join(pictures, `failed-${slug(name)}-${index}.png`),
      }).catch(() => { /* the browser itself may be what failed */ })));
      console.error(`the service said at last:\n${place.service.log_tail()}`);
      throw fault;
    } finally {
      await Promise.all(place.contexts.splice(0).map((desk) => desk.context.close()));
    }
    guard.check();
  }
  return {
    place,
    desk_test: (name, body, looks = {}) =>
      it(name, { timeout: test_deadline_ms }, () => play(name, looks, body)),
  };
}
