// SPDX-License-Identifier: Apache-2.0
// A sale while it happens, and what the page says while the service is slow or away.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { workplace } from './desk.mjs';
import { dialog, figures_of, line_of, row_of, said, section, wait_for } from './seen.mjs';
import { eventually } from './waiting.mjs';

describe('live', { concurrency: false }, () => {
  const { desk_test } = workplace();

  desk_test('a sale is watched while orders come in', async (desk) => {
    const sku = await desk.shop.item(100);
    const page = await desk.go(`live?sku=${sku}`);
    await wait_for(page.getByRole('status').getByText('Live', { exact: true }));
    await eventually('all that remains', async () => await tile(page, 'Remaining') === '100');

    const holds = [];
    for (let order = 0; order < 5; ++order) holds.push(await desk.shop.hold(sku, 4));
    await desk.shop.confirm(holds[0].id);
    await desk.shop.release(holds[1].id);
    await eventually('what is left', async () => await tile(page, 'Remaining') === '84');
    await eventually('what is held', async () => await tile(page, 'Held') === '12');
    await eventually('what is sold, and the pace', async () =>
      await tile(page, 'Sold since opened') === '4' &&
      await tile(page, 'Units a minute') === '16' && await tile(page, 'Sold out in') === '5 min');
    await wait_for(page.locator('figure.chart canvas'));
  });

  desk_test('without an item the fastest stand first, and lead to themselves', async (desk) => {
    const [slow, fast] = [await desk.shop.item(50), await desk.shop.item(50)];
    const page = await desk.go('live');
    await wait_for(page.getByRole('status').getByText('Live', { exact: true }));
    await desk.shop.hold(slow, 1);
    await desk.shop.hold(fast, 9);
    const first = page.getByRole('table').getByRole('row').nth(1);
    await eventually('the fastest first',
      async () => await first.isVisible() && (await first.innerText()).startsWith(fast));
    await first.getByRole('link').click();
    await eventually('the item by itself', async () => await tile(page, 'Remaining') === '41');
  });

  desk_test('what is on its way is said to be', async (desk) => {
    const let_go = await hold_back(desk.page, '**/v1/reservations*');
    const page = await desk.go('reservations');
    await wait_for(page.getByRole('status').getByText('Loading…'));
    let_go();
    await wait_for(page.getByText('Loading…'), 'detached');
    await wait_for(page.getByRole('table'));
  });

  desk_test('an answer that nobody can read is said, and asked for again', async (desk) => {
    desk.provoke(502);
    let is_broken = true;
    await desk.page.route('**/v1/blocked-customers*', (route) => (is_broken
      ? route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>Bad gateway</h1>' })
      : route.continue()));
    const page = await desk.go('blocked');
    await wait_for(page.getByRole('alert').getByText('The service cannot be reached.'));
    is_broken = false;
    await page.getByRole('button', { name: 'Try again' }).click();
    await wait_for(page.getByText('Nobody is blocked.'));
  });

  desk_test('a change whose answer was lost is not made twice', async (desk) => {
    desk.provoke('outage');
    const sku = await desk.shop.item(10);
    let lost = 0;
    await desk.page.route('**/adjustments', async (route) => {
      if (lost > 0) return route.continue();
      lost += 1;
      await route.fetch();
      return route.abort('connectionreset');
    });
    const page = await desk.go(`stock?q=${sku}`);
    await wait_for(row_of(page, sku));
    await page.getByRole('grid').focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type('12');
    await page.keyboard.press('Enter');
    await said(page, `${sku}: 12 on hand`);
    assert.equal(lost, 1);
    const { data } = await desk.shop.send('GET', `/v1/stock/${sku}/movements`);
    assert.deepEqual(data.map((movement) => movement.on_hand_delta), [2, 10]);
  });

  desk_test('pressed once more after all attempts were lost, it is booked once', async (desk) => {
    desk.provoke('outage');
    const sku = await desk.shop.item(10);
    const keys = await lose_answers(desk.page, '**/adjustments');
    const page = await desk.go(`stock?q=${sku}`);
    await wait_for(row_of(page, sku));
    await page.getByRole('grid').focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type('12');
    await page.keyboard.press('Enter');
    await said(page, `${sku}: we do not know whether this was booked`);
    assert.equal(await page.getByText('was not changed').count(), 0);
    await page.unroute('**/adjustments');
    await note_keys(page, '**/adjustments', keys);
    await row_of(page, sku).getByRole('button', { name: 'Send again' }).click();
    await said(page, `${sku}: 12 on hand`);
    assert.equal(keys.length, 5);
    assert.equal(new Set(keys).size, 1, 'one key for all of them');
    const { data } = await desk.shop.send('GET', `/v1/stock/${sku}/movements`);
    assert.deepEqual(data.map((movement) => movement.on_hand_delta), [2, 10]);
  });

  desk_test('a delivery whose answer was lost is booked once, another one anew', async (desk) => {
    desk.provoke('outage');
    const sku = await desk.shop.item(10);
    const page = await desk.go('imports');
    const delivery = (n) => page.locator('input[type=file]').setInputFiles({
      name: 'delivery.csv', mimeType: 'text/csv',
      buffer: Buffer.from(`sku,quantity\n${sku},${n}\n`),
    });
    const apply = async () => {
      await page.getByRole('button', { name: 'Apply', exact: true }).click();
      await dialog(page).getByRole('button', { name: 'Apply' }).click();
    };
    await page.getByLabel('Mode').selectOption('add');
    await delivery(4);
    await wait_for(line_of(section(page, 'Preview'), '+4'));
    const where = /\/v1\/imports\?mode=add$/;
    const keys = await lose_answers(page, where);
    await apply();
    await wait_for(page.getByRole('alert').getByText('we do not know whether this was done'));
    await page.unroute(where);
    await delivery(4); // the same file, chosen once more
    await wait_for(page.getByText('we do not know whether this was done'), 'detached');
    await wait_for(line_of(section(page, 'Preview'), '+4'));
    await note_keys(page, where, keys);
    await apply();
    await said(page, 'Import applied');
    assert.equal(new Set(keys).size, 1);
    assert.equal((await desk.shop.level(sku)).on_hand, 14);

    await delivery(5);
    await wait_for(line_of(section(page, 'Preview'), '+5'));
    await apply();
    await wait_for(page.getByRole('region', { name: 'Import applied' }).getByText('+5'));
    assert.equal((await desk.shop.level(sku)).on_hand, 19);

    await page.reload();
    await page.getByLabel('Mode').selectOption('add');
    await delivery(5); // the same file on another day
    await wait_for(line_of(section(page, 'Preview'), '+5'));
    await apply();
    await wait_for(section(page, 'Added before'));
    assert.equal((await desk.shop.level(sku)).on_hand, 19);
    await page.getByRole('button', { name: 'Add it once more' }).click();
    await dialog(page).getByRole('button', { name: 'Apply' }).click();
    await wait_for(section(page, 'Import applied'));
    assert.equal((await desk.shop.level(sku)).on_hand, 24);
  });

  desk_test('what may be booked is not said to be refused by what came of asking again',
    async (desk) => {
      desk.provoke('outage', 429);
      const sku = await desk.shop.item(10);
      let asked = 0;
      await desk.page.route('**/adjustments', async (route) => {
        asked += 1;
        if (asked > 2) return route.continue();
        if (asked === 2) return route.fulfill({
          status: 429, contentType: 'application/problem+json',
          body: JSON.stringify({ status: 429, code: 'rate-limited', detail: 'too often' }),
        });
        await route.fetch();
        return route.abort('connectionreset');
      });
      const page = await desk.go(`stock?q=${sku}`);
      await wait_for(row_of(page, sku));
      await page.getByRole('grid').focus();
      await page.keyboard.press('Enter');
      await page.keyboard.type('12');
      await page.keyboard.press('Enter');
      await said(page, `${sku}: we do not know whether this was booked`);
      await row_of(page, sku).getByRole('button', { name: 'Send again' }).click();
      await said(page, `${sku}: 12 on hand`);
      const { data } = await desk.shop.send('GET', `/v1/stock/${sku}/movements`);
      assert.deepEqual(data.map((movement) => movement.on_hand_delta), [2, 10]);
    });

  desk_test('a number that is saved during a search is shown in what was found', async (desk) => {
    const sku = await desk.shop.item(10);
    const page = await desk.go(`stock?q=${sku}`);
    await wait_for(row_of(page, sku));
    const let_go = await hold_back(page, '**/adjustments');
    await page.getByRole('grid').focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type('12');
    await page.keyboard.press('Enter');
    await desk.go(`stock?q=${sku}&low=`);
    await desk.go('stock?q=');
    await desk.go(`stock?q=${sku.toLowerCase()}`);
    await wait_for(row_of(page, sku));
    let_go();
    await said(page, `${sku}: 12 on hand`);
    await eventually('the new number', async () => (await figures_of(page, sku))[2] === '12');
  });

  desk_test('a key whose screen was left while it was made is told to be unseen', async (desk) => {
    const page = await desk.go('keys');
    const let_go = await hold_back(page, '**/v1/keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await dialog(page).getByLabel('Name').fill('till');
    await dialog(page).getByRole('button', { name: 'Make key' }).click();
    await desk.go('blocked');
    await wait_for(page.getByText('Nobody is blocked.'));
    let_go();
    await said(page, 'Key of till: it was made, and nobody has seen it');
  });

  desk_test('a block that is refused leaves a later one on the screen', async (desk) => {
    desk.provoke(422);
    const page = await desk.go('blocked');
    await wait_for(page.getByText('Nobody is blocked.'));
    const let_go = await hold_back(page, '**/v1/blocked-customers/first', (route) => route.fulfill({
      status: 422, contentType: 'application/problem+json',
      body: JSON.stringify({ status: 422, code: 'never-heard-of', detail: 'not that one' }),
    }));
    for (const name of ['first', 'second']) {
      await page.getByRole('textbox', { name: 'Customer' }).fill(name);
      await page.getByRole('textbox', { name: 'Reason' }).fill('resells');
      await page.getByRole('button', { name: 'Block', exact: true }).click();
    }
    await said(page, 'second is blocked');
    let_go();
    await said(page, 'not that one');
    await wait_for(line_of(page, 'first'), 'detached');
    await wait_for(line_of(page, 'second'));
    await desk.shop.send('DELETE', '/v1/blocked-customers/second');
  });

  desk_test('a file that is being looked at is not exchanged for another', async (desk) => {
    const [sku, other] = [await desk.shop.item(10), await desk.shop.item(10)];
    const page = await desk.go('imports');
    const let_go = await hold_back(page, '**/v1/imports?*');
    const files = page.locator('input[type=file]');
    const file_of = (name, of) =>
      ({ name, mimeType: 'text/csv', buffer: Buffer.from(`sku,quantity\n${of},99\n`) });
    await files.setInputFiles(file_of('one.csv', sku));
    await eventually('no other file can be chosen', () => files.isDisabled());
    await page.locator('.drop').evaluate((drop, text) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([text], 'other.csv', { type: 'text/csv' }));
      drop.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true }));
    }, `sku,quantity\n${other},99\n`);
    let_go();
    await wait_for(line_of(section(page, 'Preview'), sku));
    await page.getByRole('button', { name: 'Apply', exact: true }).click();
    await dialog(page, 'Apply one.csv?').getByRole('button', { name: 'Apply' }).click();
    await wait_for(section(page, 'Import applied'));
    assert.equal((await desk.shop.level(sku)).on_hand, 99);
    assert.equal((await desk.shop.level(other)).on_hand, 10);
  });

  desk_test('what is refused after its screen was left is said all the same', async (desk) => {
    desk.provoke(422);
    const sku = await desk.shop.item(10);
    const page = await desk.go(`stock/${sku}`);
    await page.getByLabel('Name').fill('Tea');
    const let_go = await hold_back(page, `**/v1/stock/${sku}`, (route) => (
      route.request().method() !== 'PUT' ? route.continue() : route.fulfill({
        status: 422, contentType: 'application/problem+json',
        body: JSON.stringify({ status: 422, code: 'never-heard-of', detail: 'no tea today' }),
      })));
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await desk.go('blocked');
    await wait_for(page.getByText('Nobody is blocked.'));
    let_go();
    await said(page, `The settings of ${sku} were not saved. no tea today`);
  });

  desk_test('while one customer is being blocked the next one is typed', async (desk) => {
    const page = await desk.go('blocked');
    await wait_for(page.getByText('Nobody is blocked.'));
    const let_go = await hold_back(page, '**/v1/blocked-customers/*');
    const customer = page.getByRole('textbox', { name: 'Customer' });
    await customer.fill('c-1');
    await page.getByRole('textbox', { name: 'Reason' }).fill('resells');
    await page.getByRole('button', { name: 'Block', exact: true }).click();
    await wait_for(line_of(page, 'c-1'));
    await customer.fill('c-2');
    let_go();
    await said(page, 'c-1 is blocked');
    assert.equal(await customer.inputValue(), 'c-2');
    await desk.shop.send('DELETE', '/v1/blocked-customers/c-1');
  });

  desk_test('a hidden tab watches no sale, and goes on when it is shown', async (desk) => {
    const sku = await desk.shop.item(50);
    const page = await desk.go(`live?sku=${sku}`);
    await eventually('the first number', async () => await tile(page, 'Remaining') === '50');
    await wait_for(page.getByRole('status').getByText('Live', { exact: true }));
    const turn = (hidden) => page.evaluate((is_hidden) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => is_hidden });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
    const ended = page.waitForEvent('requestfailed',
      (request) => request.url().includes('/v1/events'));
    await turn(true);
    await ended;
    const { id } = await desk.shop.hold(sku, 9);
    await desk.shop.confirm(id);
    const told = `/v1/events?sku=${sku}&type=reservation.confirmed`; // it is behind `now` then
    await eventually('an event', async () => (await desk.shop.send('GET', told)).data.length === 1);
    await turn(false);
    await eventually('what was sold meanwhile', async () =>
      await tile(page, 'Remaining') === '41' && await tile(page, 'Sold since opened') === '9');
  });

  desk_test('a delivery undone before its answer came is told to be undone', async (desk) => {
    desk.provoke('outage');
    const sku = await desk.shop.item(10);
    const page = await desk.go('imports');
    await page.getByLabel('Mode').selectOption('add');
    await page.locator('input[type=file]').setInputFiles({
      name: 'delivery.csv', mimeType: 'text/csv', buffer: Buffer.from(`sku,quantity\n${sku},4\n`),
    });
    await page.route(/\/v1\/imports\?mode=add$/, async (route) => {
      const applied = await (await route.fetch()).json();
      await desk.shop.send('POST', `/v1/imports/${applied.id}/undo`, {});
      await route.abort();
    }, { times: 1 });
    await page.getByRole('button', { name: 'Apply', exact: true }).click();
    await dialog(page).getByRole('button', { name: 'Apply' }).click();
    await wait_for(section(page, 'Import applied').getByText('undone since'));
    assert.equal((await desk.shop.level(sku)).on_hand, 10);
  });

  desk_test('while the service is away, what is typed stays, in Chinese too', async (desk) => {
    desk.provoke(503);
    const page = await desk.go('blocked');
    await page.getByLabel('客户').fill('c-77');
    await page.getByLabel('原因').fill('转卖');
    await page.route('**/v1/blocked-customers/*', (route) => route.fulfill({
      status: 503, contentType: 'application/problem+json',
      body: JSON.stringify({ status: 503, code: 'database-unavailable', detail: 'away' }),
    }));
    await page.getByRole('button', { name: '封禁', exact: true }).click();
    await said(page, '服务没有应答，不确定是否已完成。请再次提交：只会执行一次。');
    assert.equal(await page.getByLabel('客户').inputValue(), 'c-77');
    await page.unroute('**/v1/blocked-customers/*');
    await page.getByRole('button', { name: '封禁', exact: true }).click();
    await said(page, 'c-77 已被封禁');
    await desk.shop.send('DELETE', '/v1/blocked-customers/c-77');
  }, { language: 'zh-CN' });

  desk_test('a watch that is refused because the session ended leads to the door', async (desk) => {
    desk.provoke(401);
    await desk.page.route('**/v1/events/stream*', (route) => route.fulfill({
      status: 401, contentType: 'application/problem+json',
      body: JSON.stringify({ status: 401, code: 'unauthenticated', detail: 'ended' }),
    }));
    const page = await desk.go('live');
    await wait_for(page.getByText('You are not signed in any more.'));
  });

  // Last, because the service is away for a while.
  desk_test('the service goes away and comes back, and the page says both', async (desk) => {
    desk.provoke('outage', 502, 503);
    const sku = await desk.shop.item(7);
    const watching = await desk.colleague();
    const live = await watching.go('live');
    await wait_for(live.getByRole('status').getByText('Live', { exact: true }));
    const page = await desk.go('reservations');
    await wait_for(page.getByRole('heading', { name: 'Reservations', level: 1 }));

    await desk.service.go_away();
    await wait_for(live.getByRole('status').getByText('Connection lost, trying again'));
    await desk.go(`stock?q=${sku}`);
    await wait_for(page.getByRole('alert').getByText('The service cannot be reached.'));

    await desk.service.come_back();
    await page.getByRole('button', { name: 'Try again' }).click();
    await wait_for(row_of(page, sku));
    await wait_for(live.getByRole('status').getByText('Live', { exact: true }));
    await desk.shop.hold(sku, 2);
    await wait_for(live.getByRole('table').getByText(sku));
  });
});

// Every request is carried out, and no answer comes back; tells under which keys they went.
async function lose_answers(page, where) {
  const keys = [];
  await page.route(where, async (route) => {
    keys.push(route.request().headers()['idempotency-key']);
    await route.fetch();
    return route.abort('connectionreset');
  });
  return keys;
}

const note_keys = (page, where, keys) => page.route(where, (route) => {
  keys.push(route.request().headers()['idempotency-key']);
  return route.continue();
});

async function tile(page, name) {
  const one = page.locator('.tiles > div').filter({ has: page.getByText(name, { exact: true }) });
  return await one.count() === 0 ? null : one.locator('dd').innerText();
}

// Keeps requests waiting until they are let go.
async function hold_back(page, where, then = (route) => route.continue()) {
  let let_go;
  const held_back = new Promise((resolve) => { let_go = resolve; });
  await page.route(where, async (route) => {
    await held_back;
    await then(route);
  });
  return let_go;
}
