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

function watch_page(page, complain) {
  page.on('pageerror', (fault) => complain(`thrown: ${fault.stack ?? fault}`));
  page.on('crash', () => complain('the page crashed'));
  page.on('console', (message) => {
    if (!['error', 'warning', 'assert'].includes(message.type())) return;
    complain(`${message.type()}: ${message.text()} (${message.location().url})`, message.text());
  });
}

function create_guard() {
  const complaints = [];
  const provoked = new Set();
  const is_provoked = (text) => {
    const status = refused_request.exec(text)?.[1];
    if (status) return provoked.has(Number(status));
    return provoked.has('outage') && lost_request.test(text);
  };
  return {
    complain(what, text = '') {
      if (!is_provoked(text)) complaints.push(what);
    },
    provoke: (...what) => what.forEach((one) => provoked.add(one)),
    check: () => assert.deepEqual(complaints, [], 'the browser complained'),
  };
}

// A browser at which nobody sits. To open one takes longer than many a test, so it is used again
// once it knows nothing any more of whoever sat there.
async function open_browser(place, kind, { language, theme, viewport }) {
  const context = await place.browser.newContext({
    locale: language, colorScheme: theme, viewport, timezoneId: 'Asia/Shanghai',
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(patience_ms);
  const seat = { kind, context, page: await context.newPage(), complain: () => {} };
  watch_page(seat.page, (...complaint) => seat.complain(...complaint));
  return seat;
}

// The page is left before whoever sat there is forgotten: it may still be asking for something.
async function tidy_up(seat) {
  const { context, page } = seat;
  seat.complain = () => {};
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.evaluate(() => window.localStorage.clear());
  await page.goto('about:blank');
  await context.clearCookies();
}

// One person at a browser. Nobody in particular is `as: null`.
async function sit_down(place, guard, { as = 'owner', language = 'en-GB', theme = 'light',
  viewport = size } = {}) {
  const looks = { language, theme, viewport };
  const kind = JSON.stringify(looks);
  const free = place.seats.findIndex((seat) => seat.kind === kind);
  const seat = free < 0 ? await open_browser(place, kind, looks)
    : place.seats.splice(free, 1)[0];
  const { context, page } = seat;
  seat.complain = guard.complain;
  if (as !== null) await context.addCookies((await place.staff.state_of(as)).cookies);
  return {
    page, context, seat,
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
  const place = { desks: [], seats: [] };
  place.sit_down = async (guard, looks) => {
    const desk = await sit_down(place, guard, looks);
    place.desks.push(desk);
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
      await Promise.all(place.desks.map(({ seat }) => tidy_up(seat)));
      place.seats.push(...place.desks.splice(0).map(({ seat }) => seat));
    } catch (fault) {
      await Promise.all(place.desks.map((desk, index) => desk.page.screenshot({
        path: join(pictures, `failed-${slug(name)}-${index}.png`),
      }).catch(() => { /* the browser itself may be what failed */ })));
      console.error(`the service said at last:\n${place.service.log_tail()}`);
      throw fault;
    } finally {
      await Promise.all(place.desks.splice(0).map((desk) => desk.context.close()));
    }
    guard.check();
  }
  return {
    place,
    desk_test: (name, body, looks = {}) =>
      it(name, { timeout: test_deadline_ms }, () => play(name, looks, body)),
  };
}
